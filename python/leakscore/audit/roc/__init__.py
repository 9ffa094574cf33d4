"""The ROC curve: what the scores show, and bounds on the true one."""
