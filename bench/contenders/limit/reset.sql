truncate lease, task;
