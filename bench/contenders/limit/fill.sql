insert into lease (id) select n from generate_series(1, :tasks) n;
