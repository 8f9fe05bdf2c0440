truncate task;
