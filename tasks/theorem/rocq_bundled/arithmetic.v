(* Natural numbers, with the lemmas of the standard library. *)
Require Import Arith Lia.

Theorem zero_right : forall n : nat, n + 0 = n.
Proof.
  intros n.
  induction n as [| n IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem successor_right : forall n m : nat, n + S m = S (n + m).
Proof.
  intros n m.
  induction n as [| n IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    reflexivity.
Qed.

Theorem addition_commutes : forall n m : nat, n + m = m + n.
Proof.
  intros n m.
  induction n as [| n IH].
  - simpl.
    rewrite Nat.add_0_r.
    reflexivity.
  - simpl.
    rewrite IH.
    rewrite Nat.add_succ_r.
    reflexivity.
Qed.

Theorem addition_regroups : forall a b c : nat, a + (b + c) = b + (a + c).
Proof.
  intros a b c.
  rewrite Nat.add_assoc.
  rewrite (Nat.add_comm a b).
  rewrite Nat.add_assoc.
  reflexivity.
Qed.

Theorem units_of_arithmetic : forall n : nat, n + 0 = n /\ n * 1 = n /\ n * 0 = 0.
Proof.
  intros n.
  split.
  - rewrite Nat.add_0_r.
    reflexivity.
  - split.
    + rewrite Nat.mul_1_r.
      reflexivity.
    + rewrite Nat.mul_0_r.
      reflexivity.
Qed.

Theorem multiplication_distributes : forall a b c : nat, a * (b + c) = a * b + a * c.
Proof.
  intros a b c.
  induction a as [| a IH].
  - reflexivity.
  - simpl.
    rewrite IH.
    lia.
Qed.

Theorem square_of_sum : forall a b : nat, (a + b) * (a + b) = a * a + 2 * (a * b) + b * b.
Proof.
  intros a b.
  rewrite Nat.mul_add_distr_l.
  rewrite !Nat.mul_add_distr_r.
  lia.
Qed.

Theorem successor_injective : forall n m : nat, S n = S m -> n = m.
Proof.
  intros n m H.
  injection H as H.
  exact H.
Qed.

Theorem zero_is_no_successor : forall n : nat, 0 <> S n.
Proof.
  intros n H.
  discriminate H.
Qed.

Theorem no_number_is_its_successor : forall n : nat, n <> S n.
Proof.
  intros n.
  induction n as [| n IH].
  - discriminate.
  - intros H.
    apply IH.
    injection H as H.
    exact H.
Qed.

Theorem even_or_odd : forall n : nat, exists k : nat, n = 2 * k \/ n = 2 * k + 1.
Proof.
  intros n.
  induction n as [| n IH].
  - exists 0.
    left.
    reflexivity.
  - destruct IH as [k [H | H]].
    + exists k.
      right.
      lia.
    + exists (S k).
      left.
      lia.
Qed.

Theorem consecutive_product_even : forall n : nat, exists k : nat, n * (n + 1) = 2 * k.
Proof.
  intros n.
  induction n as [| n IH].
  - exists 0.
    reflexivity.
  - destruct IH as [k H].
    exists (k + n + 1).
    lia.
Qed.

Theorem order_is_total : forall n m : nat, n <= m \/ m <= n.
Proof.
  intros n m.
  destruct (Nat.le_gt_cases n m) as [H | H].
  - left.
    exact H.
  - right.
    apply Nat.lt_le_incl.
    exact H.
Qed.

Theorem order_is_antisymmetric : forall n m : nat, n <= m -> m <= n -> n = m.
Proof.
  intros n m H1 H2.
  apply Nat.le_antisymm.
  - exact H1.
  - exact H2.
Qed.

Theorem order_facts : forall n m : nat, n <= n + m /\ (n < m -> n <= m) /\ ~ n < n.
Proof.
  intros n m.
  split.
  - apply Nat.le_add_r.
  - split.
    + intros H.
      apply Nat.lt_le_incl.
      exact H.
    + apply Nat.lt_irrefl.
Qed.

Theorem cancel_addition : forall a b c : nat, a + b = a + c -> b = c.
Proof.
  intros a b c H.
  induction a as [| a IH].
  - exact H.
  - apply IH.
    simpl in H.
    injection H as H.
    exact H.
Qed.

Theorem product_zero : forall n m : nat, n * m = 0 -> n = 0 \/ m = 0.
Proof.
  intros n m H.
  destruct n as [| n].
  - left.
    reflexivity.
  - right.
    destruct m as [| m].
    + reflexivity.
    + discriminate H.
Qed.

Theorem double_is_addition : forall n : nat, 2 * n = n + n /\ n + n = n * 2.
Proof.
  intros n.
  split.
  - simpl.
    rewrite Nat.add_0_r.
    reflexivity.
  - lia.
Qed.

Theorem subtraction_undoes_addition : forall n m : nat, (n + m) - m = n /\ (n + m) - n = m.
Proof.
  intros n m.
  split.
  - rewrite Nat.add_sub.
    reflexivity.
  - rewrite Nat.add_comm.
    rewrite Nat.add_sub.
    reflexivity.
Qed.

Theorem maximum_bounds : forall n m : nat, n <= Nat.max n m /\ m <= Nat.max n m.
Proof.
  intros n m.
  split.
  - apply Nat.le_max_l.
  - apply Nat.le_max_r.
Qed.

Theorem strictly_between : forall n m : nat, n < m -> m < n + 2 -> m = n + 1.
Proof.
  intros n m H1 H2.
  lia.
Qed.

Theorem divides_sum : forall d a b : nat, Nat.divide d a -> Nat.divide d b -> Nat.divide d (a + b).
Proof.
  intros d a b [x Hx] [y Hy].
  exists (x + y).
  rewrite Hx.
  rewrite Hy.
  rewrite Nat.mul_add_distr_r.
  reflexivity.
Qed.

Theorem divides_transitive : forall a b c : nat, Nat.divide a b -> Nat.divide b c -> Nat.divide a c.
Proof.
  intros a b c [x Hx] [y Hy].
  exists (y * x).
  rewrite Hy.
  rewrite Hx.
  rewrite Nat.mul_assoc.
  reflexivity.
Qed.
