"""The ROC curve: the empirical one, and bounds on the true one."""
