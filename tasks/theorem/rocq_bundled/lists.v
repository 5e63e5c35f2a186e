(* Lists. *)
Require Import Arith Lia List.
Import ListNotations.

Theorem append_nil : forall (A : Type) (l : list A), l ++ [] = l.
Proof.
  intros A l.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem append_associative : forall (A : Type) (l m n : list A), l ++ (m ++ n) = (l ++ m) ++ n.
Proof.
  intros A l m n.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem append_units : forall (A : Type) (l : list A), [] ++ l = l /\ l ++ [] = l.
Proof.
  intros A l.
  split.
  - reflexivity.
  - apply app_nil_r.
Qed.

Theorem length_append : forall (A : Type) (l m : list A), length (l ++ m) = length l + length m.
Proof.
  intros A l m.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem length_map_same : forall (A B : Type) (f : A -> B) (l : list A), length (map f l) = length l.
Proof.
  intros A B f l.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem map_append : forall (A B : Type) (f : A -> B) (l m : list A), map f (l ++ m) = map f l ++ map f m.
Proof.
  intros A B f l m.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem map_composes : forall (A B C : Type) (f : A -> B) (g : B -> C) (l : list A),
  map g (map f l) = map (fun x => g (f x)) l.
Proof.
  intros A B C f g l.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem map_identity : forall (A : Type) (l : list A), map (fun x => x) l = l.
Proof.
  intros A l.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem reverse_append : forall (A : Type) (l m : list A), rev (l ++ m) = rev m ++ rev l.
Proof.
  intros A l m.
  induction l as [| x l IH].
  - simpl.
    rewrite app_nil_r.
    reflexivity.
  - simpl.
    rewrite IH.
    rewrite app_assoc.
    reflexivity.
Qed.

Theorem reverse_twice : forall (A : Type) (l : list A), rev (rev l) = l.
Proof.
  intros A l.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite rev_app_distr.
    rewrite IH.
    reflexivity.
Qed.

Theorem reverse_keeps_length : forall (A : Type) (l : list A), length (rev l) = length l.
Proof.
  intros A l.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite app_length.
    rewrite IH.
    simpl.
    lia.
Qed.

Theorem reverse_of_map : forall (A B : Type) (f : A -> B) (l : list A), map f (rev l) = rev (map f l).
Proof.
  intros A B f l.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite map_app.
    rewrite IH.
    reflexivity.
Qed.

Theorem in_append : forall (A : Type) (x : A) (l m : list A), In x (l ++ m) <-> In x l \/ In x m.
Proof.
  intros A x l m.
  split.
  - apply in_app_or.
  - apply in_or_app.
Qed.

Theorem in_singleton : forall (A : Type) (x y : A), In x [y] <-> x = y.
Proof.
  intros A x y.
  split.
  - intros [H | H].
    + symmetry.
      exact H.
    + contradiction.
  - intros H.
    rewrite H.
    left.
    reflexivity.
Qed.

Theorem in_map_back : forall (A B : Type) (f : A -> B) (x : A) (l : list A), In x l -> In (f x) (map f l).
Proof.
  intros A B f x l H.
  induction l as [| y l IH].
  - contradiction.
  - destruct H as [H | H].
    + left.
      rewrite H.
      reflexivity.
    + right.
      apply IH.
      exact H.
Qed.

Theorem nil_is_no_cons : forall (A : Type) (x : A) (l : list A), [] <> x :: l /\ x :: l <> l ++ [] \/ l = [].
Proof.
  intros A x l.
  left.
  split.
  - discriminate.
  - rewrite app_nil_r.
    intros H.
    apply (f_equal (@length A)) in H.
    simpl in H.
    lia.
Qed.

Theorem cons_injective : forall (A : Type) (x y : A) (l m : list A), x :: l = y :: m -> x = y /\ l = m.
Proof.
  intros A x y l m H.
  injection H as Hx Hl.
  split.
  - exact Hx.
  - exact Hl.
Qed.

Theorem append_nil_both : forall (A : Type) (l m : list A), l ++ m = [] -> l = [] /\ m = [].
Proof.
  intros A l m H.
  destruct l as [| x l].
  - split.
    + reflexivity.
    + exact H.
  - discriminate H.
Qed.

Theorem repeat_length_is : forall (A : Type) (x : A) (n : nat), length (repeat x n) = n.
Proof.
  intros A x n.
  induction n as [| n IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem fold_counts : forall l : list nat, fold_right (fun _ n => S n) 0 l = length l.
Proof.
  intros l.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem sum_of_append : forall l m : list nat,
  fold_right plus 0 (l ++ m) = fold_right plus 0 l + fold_right plus 0 m.
Proof.
  intros l m.
  induction l as [| x l IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    lia.
Qed.

Theorem list_laws : forall (A : Type) (l m : list A),
  length (l ++ m) = length l + length m /\ rev (rev l) = l /\ (l ++ m) ++ [] = l ++ m.
Proof.
  intros A l m.
  split.
  - apply app_length.
  - split.
    + apply rev_involutive.
    + apply app_nil_r.
Qed.
