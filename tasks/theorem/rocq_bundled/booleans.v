(* Booleans and options. *)
Require Import Bool.

Theorem negation_twice : forall b : bool, negb (negb b) = b.
Proof.
  intros b.
  destruct b.
  - reflexivity.
  - reflexivity.
Qed.

Theorem and_commutes : forall a b : bool, andb a b = andb b a /\ orb a b = orb b a.
Proof.
  intros a b.
  split.
  - apply andb_comm.
  - apply orb_comm.
Qed.

Theorem and_true_both : forall a b : bool, andb a b = true <-> a = true /\ b = true.
Proof.
  intros a b.
  split.
  - intros H.
    apply andb_true_iff.
    exact H.
  - intros [Ha Hb].
    rewrite Ha.
    rewrite Hb.
    reflexivity.
Qed.

Theorem or_false_both : forall a b : bool, orb a b = false -> a = false /\ b = false.
Proof.
  intros a b H.
  destruct a.
  - discriminate H.
  - split.
    + reflexivity.
    + exact H.
Qed.

Theorem exclusive_or_self : forall b : bool, xorb b b = false /\ xorb b false = b.
Proof.
  intros b.
  split.
  - destruct b; reflexivity.
  - destruct b; reflexivity.
Qed.

Theorem de_morgan_bool : forall a b : bool, negb (andb a b) = orb (negb a) (negb b).
Proof.
  intros a b.
  destruct a.
  - reflexivity.
  - reflexivity.
Qed.

Theorem true_or_false : forall b : bool, (b = true \/ b = false) /\ true <> false.
Proof.
  intros b.
  split.
  - destruct b.
    + left.
      reflexivity.
    + right.
      reflexivity.
  - discriminate.
Qed.

Theorem some_injective : forall (A : Type) (x y : A), Some x = Some y -> x = y.
Proof.
  intros A x y H.
  injection H as H.
  exact H.
Qed.

Theorem option_cases : forall (A : Type) (o : option A), o = None \/ exists x, o = Some x.
Proof.
  intros A o.
  destruct o as [x |].
  - right.
    exists x.
    reflexivity.
  - left.
    reflexivity.
Qed.

Theorem option_map_identity : forall (A : Type) (o : option A), option_map (fun x => x) o = o.
Proof.
  intros A o.
  destruct o as [x |].
  - reflexivity.
  - reflexivity.
Qed.
