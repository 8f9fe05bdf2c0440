\set id random(1, :tasks)
update lease set updated = now(), deadline = now() + interval '10 s', progress = 0.5 where id = :id;
