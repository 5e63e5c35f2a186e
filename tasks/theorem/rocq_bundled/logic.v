(* Propositional and first-order logic. *)

Theorem and_swap : forall P Q : Prop, P /\ Q -> Q /\ P.
Proof.
  intros P Q H.
  destruct H as [HP HQ].
  split.
  - exact HQ.
  - exact HP.
Qed.

Theorem and_assoc_both : forall P Q R : Prop, P /\ (Q /\ R) <-> (P /\ Q) /\ R.
Proof.
  intros P Q R.
  split.
  - intros [HP [HQ HR]].
    split.
    + split.
      * exact HP.
      * exact HQ.
    + exact HR.
  - intros [[HP HQ] HR].
    repeat split; assumption.
Qed.

Theorem or_swap : forall P Q : Prop, P \/ Q -> Q \/ P.
Proof.
  intros P Q [HP | HQ].
  - right.
    exact HP.
  - left.
    exact HQ.
Qed.

Theorem or_and_distribute : forall P Q R : Prop, P \/ (Q /\ R) <-> (P \/ Q) /\ (P \/ R).
Proof.
  intros P Q R.
  split.
  - intros [HP | [HQ HR]].
    + split.
      * left; exact HP.
      * left; exact HP.
    + split.
      * right; exact HQ.
      * right; exact HR.
  - intros [[HP | HQ] [HP' | HR]].
    + left; exact HP.
    + left; exact HP.
    + left; exact HP'.
    + right; split; assumption.
Qed.

Theorem implication_chain : forall P Q R S : Prop, (P -> Q) -> (Q -> R) -> (R -> S) -> P -> S.
Proof.
  intros P Q R S HPQ HQR HRS HP.
  apply HRS.
  apply HQR.
  apply HPQ.
  exact HP.
Qed.

Theorem curry_both : forall P Q R : Prop, (P /\ Q -> R) <-> (P -> Q -> R).
Proof.
  intros P Q R.
  split.
  - intros H HP HQ.
    apply H.
    split.
    + exact HP.
    + exact HQ.
  - intros H [HP HQ].
    apply H.
    + exact HP.
    + exact HQ.
Qed.

Theorem contrapositive : forall P Q : Prop, (P -> Q) -> ~ Q -> ~ P.
Proof.
  intros P Q H HnQ HP.
  apply HnQ.
  apply H.
  exact HP.
Qed.

Theorem double_negation_in : forall P : Prop, P -> ~ ~ P.
Proof.
  intros P HP HnP.
  apply HnP.
  exact HP.
Qed.

Theorem triple_negation : forall P : Prop, ~ ~ ~ P <-> ~ P.
Proof.
  intros P.
  split.
  - intros H HP.
    apply H.
    intros HnP.
    apply HnP.
    exact HP.
  - intros HnP HnnP.
    apply HnnP.
    exact HnP.
Qed.

Theorem not_both_ways : forall P : Prop, ~ (P <-> ~ P).
Proof.
  intros P [H1 H2].
  assert (HnP : ~ P).
  - intros HP.
    apply (H1 HP).
    exact HP.
  - apply HnP.
    apply H2.
    exact HnP.
Qed.

Theorem de_morgan_or : forall P Q : Prop, ~ (P \/ Q) <-> ~ P /\ ~ Q.
Proof.
  intros P Q.
  split.
  - intros H.
    split.
    + intros HP.
      apply H.
      left.
      exact HP.
    + intros HQ.
      apply H.
      right.
      exact HQ.
  - intros [HnP HnQ] [HP | HQ].
    + apply HnP.
      exact HP.
    + apply HnQ.
      exact HQ.
Qed.

Theorem excluded_middle_irrefutable : forall P : Prop, ~ ~ (P \/ ~ P).
Proof.
  intros P H.
  apply H.
  right.
  intros HP.
  apply H.
  left.
  exact HP.
Qed.

Theorem forall_and : forall (A : Type) (P Q : A -> Prop),
  (forall x, P x /\ Q x) <-> (forall x, P x) /\ (forall x, Q x).
Proof.
  intros A P Q.
  split.
  - intros H.
    split.
    + intros x.
      apply H.
    + intros x.
      apply H.
  - intros [HP HQ] x.
    split.
    + apply HP.
    + apply HQ.
Qed.

Theorem exists_or : forall (A : Type) (P Q : A -> Prop),
  (exists x, P x \/ Q x) <-> (exists x, P x) \/ (exists x, Q x).
Proof.
  intros A P Q.
  split.
  - intros [x [HP | HQ]].
    + left.
      exists x.
      exact HP.
    + right.
      exists x.
      exact HQ.
  - intros [[x HP] | [x HQ]].
    + exists x.
      left.
      exact HP.
    + exists x.
      right.
      exact HQ.
Qed.

Theorem not_exists_forall : forall (A : Type) (P : A -> Prop),
  ~ (exists x, P x) <-> (forall x, ~ P x).
Proof.
  intros A P.
  split.
  - intros H x HP.
    apply H.
    exists x.
    exact HP.
  - intros H [x HP].
    apply (H x).
    exact HP.
Qed.

Theorem exists_forall_swap : forall (A B : Type) (R : A -> B -> Prop),
  (exists x, forall y, R x y) -> (forall y, exists x, R x y).
Proof.
  intros A B R [x H] y.
  exists x.
  apply H.
Qed.

Theorem equality_is_equivalence : forall (A : Type) (x y z : A),
  x = x /\ (x = y -> y = x) /\ (x = y -> y = z -> x = z).
Proof.
  intros A x y z.
  split.
  - reflexivity.
  - split.
    + intros H.
      symmetry.
      exact H.
    + intros H1 H2.
      rewrite H1.
      exact H2.
Qed.

Theorem function_of_equals : forall (A B : Type) (f : A -> B) (x y : A), x = y -> f x = f y.
Proof.
  intros A B f x y H.
  rewrite H.
  reflexivity.
Qed.
