"""Tables of a study: functions of a job, which return a data frame."""
