#!/usr/bin/perl
# Makes C++ of the signatures of functions in SQL: the arguments of each C symbol by name and type, for src/api.
#
#   arguments.pl FILE.sql...             the header, in the namespace scylla::args
#   arguments.pl --describe FILE.sql...  the functions with their arguments, as JSON
use strict;
use warnings;

# A type of SQL: that of C++, the function in api/call.h that gets it, and what that needs to know besides.
my %TYPES = (
    text => ['text *', 'text'],
    name => ['const char *', 'name'],
    jsonb => ['Jsonb *', 'jsonb'],
    interval => ['Interval *', 'interval'],
    integer => ['std::optional<int32>', 'int'],
    int => ['std::optional<int32>', 'int'],
    bigint => ['std::optional<int64>', 'bigint'],
    boolean => ['std::optional<bool>', 'bool'],
    'double precision' => ['std::optional<float8>', 'float'],
    timestamptz => ['std::optional<TimestampTz>', 'time'],
    (map { ($_->[0] . q([]) => ['std::optional<Array>', 'array', $_->[1]]) }
        ['text', 'TEXTOID'], ['jsonb', 'JSONBOID'], ['bigint', 'INT8OID'], ['integer', 'INT4OID'],
        ['timestamptz', 'TIMESTAMPTZOID'], ['int8multirange', 'INT8MULTIRANGEOID']),
    (map { $_ => ['Datum', 'datum'] } 'int8multirange', 'jsonpath', 'oid', 'scylla.task', 'scylla.task_status'),
);
my $LIST = qr/\((?:[^()']|'(?:[^']|'')*'|\([^()]*\))*\)/;

my $describe = @ARGV && $ARGV[0] eq '--describe' ? shift : '';
die "usage: $0 [--describe] FILE.sql...\n" if !@ARGV;

sub arguments_of { # of what is in the brackets, and messages
    my ($list, $where) = @_;
    my @arguments;
    for (split /,(?=(?:[^']|'[^']*')*$)/, $list =~ s/^\(|\)$//gr) {
        s/^\s+|\s+$//g;
        next if $_ eq '' || /^out /;
        return [] if /^\w+$/; # without names: of an aggregate
        my ($name, $type, $default) = /^(?:in |inout |variadic )?(\w+) (.*?)(?:\s*(?:=|\bdefault\b)\s*(.*))?$/s or die "$where: what is \"$_\"?\n";
        push @arguments, {name => $name, type => $type, default => $default};
    }
    return \@arguments;
}

my (@functions, %of_symbol);
for my $path (@ARGV) {
    open my $in, '<', $path or die "$path: $!\n";
    my $sql = do { local $/; <$in> };
    $sql =~ s/^--[^\n]*\n//mg;
    while ($sql =~ /create or replace (?:function|procedure) scylla\.(\w+)\s*($LIST)(?:(?!\bcreate or replace ).)*?'MODULE_PATHNAME', '(\w+)'/gs) {
        my ($name, $list, $symbol) = ($1, $2, $3);
        my $function = {name => $name, symbol => $symbol, arguments => arguments_of($list, "$path: $name")};
        push @functions, $function;
        push @{$of_symbol{$symbol}}, $function;
    }
}

if ($describe) {
    require JSON::PP;
    print JSON::PP->new->canonical->pretty->encode(\@functions);
    exit;
}

print "// Made by src/api/arguments.pl of the signatures in sql/.\n#pragma once\n\n#include \"api/call.h\"\n\nnamespace scylla::args {\n\n";
for my $symbol (sort keys %of_symbol) {
    # The functions of one symbol have the first arguments of the longest list.
    my ($longest, @others) = sort { @{$b->{arguments}} <=> @{$a->{arguments}} } @{$of_symbol{$symbol}};
    my @arguments = @{$longest->{arguments}};
    for my $other (@others) {
        for (0 .. $#{$other->{arguments}}) {
            my ($one, $two) = ($other->{arguments}[$_], $arguments[$_]);
            die "$symbol: argument $_ of $other->{name} is $one->{name} $one->{type}, that of $longest->{name} $two->{name} $two->{type}\n"
                if $one->{name} ne $two->{name} || $one->{type} ne $two->{type};
        }
    }
    next if !@arguments;
    print 'struct ', (join '', map { ucfirst } split /_/, $symbol =~ s/^scylla_//r), " {\n    FunctionCallInfo fcinfo;\n\n";
    for my $i (0 .. $#arguments) {
        my ($name, $type) = @{$arguments[$i]}{qw(name type)};
        my ($cpp, $getter, $more) = @{$TYPES{$type} // die "$symbol: arguments.pl knows no type \"$type\"\n"};
        my $method = $name =~ s/^(class|default|delete|new|operator|private|public|register|template|this|union)$/$1_/r;
        print "    [[nodiscard]] Named<$cpp> $method() const { return {\"$name\", get_$getter(fcinfo, $i", ($more ? ", $more" : ''), ")}; }\n";
    }
    print "};\n\n";
}
print "} // namespace scylla::args\n";
