select scylla.maintain();
