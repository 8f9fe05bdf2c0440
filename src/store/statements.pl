#!/usr/bin/perl
# Makes C++ of the named statements in src/store/*/*.sql. src/store/README.md, "Statements", says how to write one.
#
#   statements.pl --header FILE.sql      the declarations: structs and functions, in the namespace scylla::store::FILE
#   statements.pl --source FILE.sql      the definitions
#   statements.pl --describe FILE.sql... names, types and text of all statements, as JSON, for test/scripts/statements.sh
#
# What statements of several files share (types, and parts of statements) is in shared.sql beside them, or in src/store.
# Needs no module but those that come with every Perl; --describe needs JSON::PP.
use strict;
use warnings;

# Types of SQL: the tag in store/statement.h, C++ of a parameter, C++ of a result. A scalar that may be null is a
# std::optional; null of another type is a null pointer.
my %TYPES = (
    (map { $_->[0] => {tag => "sql::$_->[1]", argument => $_->[2], value => $_->[2], sql => $_->[0], scalar => 1} }
        ['int8', 'int8', 'int64'], ['int4', 'int4', 'int32'], ['int2', 'int2', 'int16'], ['bool', 'boolean', 'bool'],
        ['float8', 'float8', 'float8'], ['timestamptz', 'timestamptz', 'TimestampTz']),
    text => {tag => 'sql::string', argument => 'TextArgument', value => 'text *', sql => 'text'},
    # A text, and a name, as strings of C.
    cstring => {tag => 'sql::c_string', argument => 'const char *', value => 'const char *', sql => 'text'},
    name => {tag => 'sql::name', argument => 'const char *', value => 'const char *', sql => 'name'},
    # A text as a view; the empty one is null where null is allowed.
    view => {tag => 'sql::view', argument => 'std::string_view', value => 'std::string_view', sql => 'text'},
    jsonb => {tag => 'sql::jsonb', argument => 'const Jsonb *', value => 'Jsonb *', sql => 'jsonb'},
    interval => {tag => 'sql::interval', argument => 'const Interval *', value => 'Interval *', sql => 'interval'},
    int8multirange => {tag => 'sql::int8multirange', argument => 'Datum', value => 'Datum', sql => 'int8multirange'},
    jsonpath => {tag => 'sql::jsonpath', argument => 'Datum', value => 'Datum', sql => 'jsonpath'},
);
# Known as the type of one that a file declares.
my %OTHERS = (char => '"char"');
my %BUILT_IN = map { $_ => 1 } keys %TYPES;
my $RESERVED = qr/^(class|default|delete|export|new|operator|private|public|register|template|this|union)$/;
my $BRACKETS = qr/\((?:[^()]|\([^()]*\))*\)/;
# What a parameter is not looked for in: strings, quoted names, casts. Then :parameter, :parameter.member, @part(…).
my $TOKEN = qr/('(?:[^']|'')*'|"[^"]*"|::)|:([a-z]\w*)(?:\.([a-z]\w*))?|\@([a-z]\w*)($BRACKETS)/;

our ($file, $line) = ('', 0); # for messages
my (%structs, %parts);

sub fail { die "$file:$line: @_\n" }
sub open_brackets { my $text = shift =~ s/--.*$//mgr; return ($text =~ tr/(//) - ($text =~ tr/)//) }
sub camel { join '', map { ucfirst } split /_/, shift }
sub snake { lc(shift =~ s/(?<=[a-z0-9])(?=[A-Z])/_/gr) }
sub cpp_name { my $name = shift; return $name =~ $RESERVED ? "${name}_" : $name }
sub member { my ($type, $name) = @_; return $type =~ /\*$/ ? "$type$name" : "$type $name" }

# ---- reading heads -------------------------------------------------------------------------------------------------

# NAME[[]][?|?0|!]: an array; may be null; 0 stands for null; null in the table, but not in these rows.
sub type_of {
    my $text = shift;
    my ($base, $array, $null) = $text =~ /^(\w+)(\[\])?(\?0?|!)?$/ or fail("\"$text\" is not a type");
    $null //= '';
    if (my $struct = $structs{$base}) {
        fail("\"$text\": a struct is not null") if $null;
        return {struct => $struct, list => $array};
    }
    my $of = $TYPES{$base} or fail("there is no type \"$base\"; there are: @{[sort keys %TYPES, keys %structs]}");
    my ($tag, $argument, $value) = @$of{qw(tag argument value)};
    fail("\"$text\": 0 stands for null in numbers and times only") if $null eq '?0' && !($of->{scalar} && $BUILT_IN{$base});
    if ($array) {
        ($tag, $argument, $value) = ("sql::Array<$tag>", "ArrayArgument<$argument>", 'ArrayType *');
    }
    if ($null eq '?' && $of->{scalar} && !$array) {
        ($tag, $argument, $value) = ("sql::Nullable<$tag>", "std::optional<$argument>", "std::optional<$value>");
    } elsif ($null eq '?') {
        $tag = "sql::OrEmpty<$tag>";
    } elsif ($null eq '?0') {
        $tag = "sql::OrZero<$tag>";
    }
    return {tag => $tag, argument => $argument, value => $value, sql => $of->{sql} . ($array // ''), null => $null, header => $of->{header}};
}

sub columns_of { # "NAME TYPE, …"; a comment of a column is behind its comma
    my $text = shift;
    my (%seen, @columns);
    for (split /\n/, $text) {
        my $comment = s/\s*--\s*(.*)$// ? $1 : '';
        for (split /,/) {
            next if !/\S/;
            my ($name, $type) = /^\s*([a-z]\w*)\s+(\S+)\s*$/ or fail("\"$_\" is not \"NAME TYPE\"");
            fail("\"$name\" is there twice") if $seen{$name}++;
            push @columns, {name => $name, cpp => cpp_name($name), type => type_of($type), comment => $comment};
        }
    }
    fail('no columns') if !@columns;
    return \@columns;
}

sub add_struct {
    my ($name, $columns) = @_;
    fail("there are two structs \"$name\"") if $structs{$name};
    return $structs{$name} = {name => $name, cpp => $name, columns => $columns, doc => [], line => $line};
}

sub add_type { # of a comment that declares one; false: it does not
    my $text = shift;
    if ($text =~ /^words (\w+) ([\w:]+) ([\w:]+) (\S+)$/) { # a text that is one of a list, as an enum
        $TYPES{$1} = {tag => "sql::Word<$2, $3>", argument => $2, value => $2, sql => 'text', scalar => 1, header => $4};
    } elsif ($text =~ /^type (\w+) (\w+) (\S+) (\S+) (\S+)$/) { # its tag, C++ and header
        my $sql = $OTHERS{$2} // ($TYPES{$2} // fail("there is no type \"$2\""))->{sql};
        $TYPES{$1} = {tag => $3, argument => $4, value => $4, sql => $sql, header => $5};
    } else {
        return 0;
    }
    return 1;
}

sub statement_of {
    my $head = shift;
    my ($name, $takes, $rest) = $head =~ /^([a-z]\w*)($BRACKETS)\s*(.*)$/s or fail("not a head: $head");
    my $statement = {name => $name, line => $line, verb => '', sql => '', doc => []};
    $takes = substr $takes, 1, -1;
    $statement->{parameters} = $takes =~ /\S/ ? columns_of($takes) : [];
    $_->{name} =~ /^(columns|given|parameters|statement|values)$/ and fail("a parameter cannot be called \"$1\"") for @{$statement->{parameters}};
    if ($rest =~ s/^->\s*(count|table)\b\s*//) {
        $statement->{verb} = $1;
    } elsif ($rest =~ s/^->\s*(one|opt|many|first)\s+//) {
        $statement->{verb} = $1;
        $rest =~ s/^([A-Z]\w*)?\s*($BRACKETS)?\s*// && (defined $1 || defined $2) or fail("\"$name\" returns what?");
        my ($struct, $columns) = ($1, defined $2 ? columns_of(substr $2, 1, -1) : undef);
        if ($columns && !$struct && @$columns == 1) {
            fail('a struct alone: write its name without a column') if $columns->[0]{type}{struct};
            $statement->{value} = $columns->[0];
        } else {
            $struct //= camel($name);
            $statement->{row} = $columns ? add_struct($struct, $columns) : $structs{$struct} // fail("there is no struct \"$struct\"");
        }
    }
    $statement->{$1} = 1 while $rest =~ s/^!(indexes|latest|reads|caller|hot)\b\s*//;
    fail("what is \"$rest\"?") if $rest =~ /\S/;
    return $statement;
}

sub read_file {
    my $path = shift;
    local ($file, $line, $_) = ($path, 0);
    open my $in, '<', $path or die "$path: $!\n";
    my (@statements, $to);
    my $fresh = 1; # at the beginning of a paragraph
    while (<$in>) {
        $line++;
        chomp;
        if (/^-- ((?:words|type) .*)$/) {
            add_type($1) or fail("not a type: $1");
        } elsif ($fresh && /^-- (?=struct \w|\@?[a-z]\w*\()(.*)$/) {
            my $text = $1;
            my $first = $line;
            while (open_brackets($text) || $text =~ /->\s*(?:one|opt|many|first)?\s*$/) {
                $_ = <$in> // fail('the head does not end');
                $line++;
                chomp;
                s/^--( |$)// or fail('the head does not end');
                $text .= "\n$_";
            }
            local $line = $first;
            if ($text =~ /^\@([a-z]\w*)\((.*)\)$/) {
                fail("there are two parts \"$1\"") if $parts{$1};
                $to = $parts{$1} = {takes => [split /\s*,\s*/, $2], sql => '', doc => []};
            } elsif ($text =~ /^struct ([A-Z]\w*) (?:= ([A-Z]\w*) (\S+) )?\((.*)\)(\s*--[^\n]*)?$/s) {
                fail('a struct is declared in the header of one file: not in shared.sql') if $file =~ /\bshared\.sql$/;
                my ($name, $other, $header, $columns) = ($1, $2, $3, $4 . ($5 // ''));
                $to = add_struct($name, columns_of($columns));
                @$to{qw(cpp header)} = ($other, $header) if $other; # C++ has it already
            } else {
                push @statements, $to = statement_of($text);
            }
        } elsif (/^--\s?(.*)/ && $to && ($to->{sql} // '') eq '') {
            push @{$to->{doc}}, $1 if !$fresh;
        } elsif ($to && exists $to->{sql} && /\S/) {
            $to->{sql} .= "$_\n";
        } elsif (/\S/ && !/^--/) {
            fail('SQL without a head');
        }
        $fresh = /;\s*$/ || !/\S/;
        $to = undef if !/\S/ && $to && !exists $to->{sql};
    }
    return @statements;
}

# ---- SQL -----------------------------------------------------------------------------------------------------------

sub with_parts {
    my $sql = shift =~ s{('(?:[^']|'')*')|--[^\n]*}{$1 // ''}ger; # without comments
    $sql =~ s{$TOKEN}{
        if (!defined $4) { $& }
        else {
            my ($name, $given) = ($4, $5);
            my $part = $parts{$name} or fail("there is no part \"$name\"");
            my @given = map { s/^\s+|\s+$//gr } split /,/, substr $given, 1, -1;
            my @takes = @{$part->{takes}};
            fail("\@$name takes @{[scalar @takes]} values") if @given != @takes;
            my %given = map { $takes[$_] => $given[$_] } 0 .. $#takes;
            with_parts($part->{sql}) =~ s{$TOKEN}{defined $2 ? $given{$2} // fail("\@$name has no \"$2\"") : $&}ger =~ s/[;\s]+$//r;
        }
    }gex;
    return $sql;
}

# What the search_path decides, or may: such a statement runs with that of the caller.
my $CALLS_NOTHING = join '|', qw(all and any array as coalesce conflict distinct exists filter from greatest least not on or over returning select using values when where);
sub require_qualified {
    my ($name, $sql) = @_;
    $sql =~ s/'(?:[^']|'')*'//g;
    $sql =~ s/\b\w+\."\w+"//g; # pg_catalog."C"
    fail("$name: an operator would be looked up by the search_path of the caller: \"$1\"") if $sql =~ s/\boperator\(pg_catalog\.[^)]*\)//gr =~ m{(?<!:)([-+*/<>=~!\@#%^&|`?]+)(?![\w:])};
    fail("$name: \"$1\" would be looked up by the search_path of the caller") if $sql =~ /\b(between|case\s+(?!when\b)|distinct\s+from|i?like|in|nullif|similar)\b/i;
    fail("$name: \"$1\" is not qualified") if $sql =~ /(?<![.\w:\@])(?!(?:$CALLS_NOTHING)\b)(\w+)\(/i || $sql =~ /(::\s*(?!pg_catalog\.)\w+|collate\s+"\w+"|(?:from|join|into|update|using)\s+(?![:(\s]|scylla\.|pg_catalog\.)\w+)/i;
}

# Names become numbers, in the order in which they are used. A list of structs becomes the table that is made of arrays.
sub number {
    my $statement = shift;
    local $line = $statement->{line};
    my $name = $statement->{name};
    my %of = map { $_->{name} => $_ } @{$statement->{parameters}};
    my (%text, @given, %used);
    my $sql = with_parts($statement->{sql});
    fail("$name: parameters have names, not numbers") if $sql =~ s/'(?:[^']|'')*'//gr =~ /\$/;
    require_qualified($name, $sql) if $statement->{hot};
    $sql =~ s{$TOKEN}{
        if (defined $1) { $1 }
        else {
            my ($full, $parameter, $inside) = ($&, $2, $3);
            my $is = $of{$parameter} or fail("$name: there is no parameter \"$parameter\"");
            $used{$parameter} = 1;
            my $struct = $is->{type}{struct};
            fail("$name: \"$full\" is a struct: which member?") if $struct && !$is->{type}{list} && !defined $inside;
            fail("$name: \"$full\" has no members") if (!$struct || $is->{type}{list}) && defined $inside;
            $text{$full} //= do {
                if ($struct && $is->{type}{list}) {
                    my @columns = @{$struct->{columns}};
                    my $first = @given + 1;
                    for my $column (@columns) {
                        fail("$name: \"$column->{name}\" of \"$parameter\" is no single value") if $column->{type}{struct} || $column->{type}{sql} =~ /\[/;
                        push @given, {%{$column->{type}}, sql => "$column->{type}{sql}\[]", of => $is->{cpp}, member => "$struct->{cpp}::$column->{cpp}"};
                    }
                    'rows from (' . join(', ', map { "pg_catalog.unnest(\$$_)" } $first .. $#given + 1) . ") $parameter (" . join(', ', map { "\"$_->{name}\"" } @columns) . ')'
                } else {
                    my ($column) = $struct ? grep { $_->{name} eq $inside } @{$struct->{columns}} : $is;
                    fail("$name: there is no \"$full\"") if !$column;
                    push @given, {%{$column->{type}}, of => $struct ? "$is->{cpp}.$column->{cpp}" : $is->{cpp}};
                    '$' . @given
                }
            };
        }
    }gex;
    $sql =~ s/\s*;\s*$//;
    fail("$name: more than one statement") if $sql =~ s/$TOKEN//gr =~ /;/;
    fail("$name: no SQL") if $sql !~ /\S/;
    $used{$_} or fail("$name: the parameter \"$_\" is not used") for sort keys %of;
    $statement->{sql} = $sql =~ s/[ \t]+$//mgr =~ s/\n+/\n/gr;
    $statement->{given} = \@given;
}

# All values of a row, in order, those of structs inside too.
sub flat { map { $_->{type}{struct} ? flat(@{$_->{type}{struct}{columns}}) : $_ } @_ }

sub returned { # marks the structs that a statement returns
    my $struct = shift;
    $struct->{returned} = 1;
    returned($_->{type}{struct}) for grep { $_->{type}{struct} } @{$struct->{columns}};
}

# ---- C++ -----------------------------------------------------------------------------------------------------------

sub comment { join '', map { $_ eq '' ? "//\n" : "// $_\n" } @_ }

# A struct that statements return has what they give. Another has what a parameter takes.
sub cpp_type {
    my ($type, $returned) = @_;
    return $returned ? $type->{value} : $type->{argument} if !$type->{struct};
    return $type->{list} ? "std::span<const $type->{struct}{cpp}>" : $type->{struct}{cpp};
}

sub struct {
    my ($name, $columns, $returned) = @_;
    return "struct $name {\n" . join('', map { '    ' . member(cpp_type($_->{type}, $returned), $_->{cpp}) . ';' . ($_->{comment} ? " // $_->{comment}" : '') . "\n" } @$columns) . "};\n";
}

sub signature {
    my $statement = shift;
    my @parameters = @{$statement->{parameters}};
    my $row = $statement->{row} ? $statement->{row}{name} : $statement->{value} ? $statement->{value}{type}{value} : '';
    my $result = {'' => 'void', table => 'void', count => 'int64', one => $row, opt => "std::optional<$row>", first => "std::optional<$row>", many => "std::span<$row>"}->{$statement->{verb}};
    my $takes = @parameters > 3 ? 'const ' . camel($statement->{name}) . 'Given &given' : join ', ', map {
        my $type = cpp_type($_->{type});
        member($_->{type}{struct} && !$_->{type}{list} ? "const $type &" : $type, $_->{cpp}) =~ s/& /&/r
    } @parameters;
    my $last = {first => "const Test<$row> &is_wanted", table => 'Tuplestorestate *rows'}->{$statement->{verb}};
    $takes .= ($takes eq '' ? '' : ', ') . $last if $last;
    return member($result, "$statement->{name}($takes)");
}

sub header {
    my ($space, $statements) = @_;
    my $out = '';
    for my $struct (sort { $a->{line} <=> $b->{line} } grep { !$_->{header} } values %structs) {
        $out .= comment(@{$struct->{doc}}) . struct(@$struct{qw(name columns returned)}) . "\n";
    }
    for my $statement (@$statements) {
        $out .= struct(camel($statement->{name}) . 'Given', $statement->{parameters}) . "\n" if @{$statement->{parameters}} > 3;
        $out .= comment(@{$statement->{doc}}) . signature($statement) . ";\n\n";
    }
    return $out;
}

sub columns_constant { 'k_' . snake(shift->{name}) . '_columns' }
sub reader { 'read_' . snake(shift->{name}) }

sub definition {
    my ($space, $statement) = @_;
    my $prefix = @{$statement->{parameters}} > 3 ? 'given.' : '';
    my @given = @{$statement->{given}};
    my $list = sub { my ($of, @of) = @_; return @of ? "    static constexpr Oid $of\[] = {" . join(', ', @of) . "};\n" : '' };
    my $out = signature($statement) . " {\n";
    $out .= $list->('parameters', map { $_->{member} ? "sql::Array<$_->{tag}>::oid" : "$_->{tag}::oid" } @given);
    $out .= $list->('columns', "$statement->{value}{type}{tag}::oid") if $statement->{value};
    $out .= "    static constinit Statement statement{\n        .name = \"$space.$statement->{name}\",\n        .sql = R\"sql($statement->{sql})sql\"";
    $out .= ",\n        .parameters = parameters" if @given;
    $out .= ",\n        .columns = columns" if $statement->{value};
    $out .= ",\n        .columns = " . columns_constant($statement->{row}) if $statement->{row};
    $out .= ",\n        .indexes_only = true" if $statement->{indexes};
    $out .= ",\n        .latest = true" if $statement->{latest};
    $out .= ",\n        .reads_only = true" if $statement->{reads};
    $out .= ",\n        .hot = true" if $statement->{hot};
    $out .= ",\n        .as_caller = true" if $statement->{caller};
    $out .= "};\n    Given<" . @given . "> values(statement);\n";
    for (@given) {
        $out .= $_->{member} ? "    values.column<$_->{tag}>($prefix$_->{of}, &$_->{member});\n" : "    values.put<$_->{tag}>($prefix$_->{of});\n";
    }
    my $read = $statement->{row} ? reader($statement->{row}) : $statement->{value} ? "read_value<$statement->{value}{type}{tag}>" : '';
    $out .= {
        '' => "    (void)values.run();\n",
        count => "    return values.run();\n",
        table => "    values.put_rows(rows);\n",
        many => "    return values.select<$read>();\n",
        one => "    return values.select_one<$read>();\n",
        opt => "    return values.find<$read>();\n",
        first => "    return values.find_first<$read>(is_wanted);\n",
    }->{$statement->{verb}};
    return "$out}\n\n";
}

sub source {
    my ($space, $statements) = @_;
    my $out = "namespace {\n\n";
    my %row = map { $_->{row} ? ($_->{row}{name} => 1) : () } @$statements;
    for my $struct (sort { $a->{line} <=> $b->{line} } grep { $_->{returned} } values %structs) {
        $out .= "$struct->{name} " . reader($struct) . "(Fields &row) {\n    return {" . join(",\n            ", map {
            ".$_->{cpp} = " . ($_->{type}{struct} ? reader($_->{type}{struct}) . '(row)' : "row.next<$_->{type}{tag}>()")
        } @{$struct->{columns}}) . "};\n}\n";
        $out .= 'constexpr Oid ' . columns_constant($struct) . '[] = {' . join(', ', map { "$_->{type}{tag}::oid" } flat(@{$struct->{columns}})) . "};\n" if $row{$struct->{name}};
        $out .= "\n";
    }
    return "$out} // namespace\n\n" . join '', map { definition($space, $_) } @$statements;
}

# ---- for the test --------------------------------------------------------------------------------------------------

sub described {
    my ($space, $statement) = @_;
    my @columns = $statement->{row} ? flat(@{$statement->{row}{columns}}) : $statement->{value} // ();
    return {
        name => "$space.$statement->{name}",
        sql => $statement->{sql},
        parameters => [map { $_->{sql} } @{$statement->{given}}],
        returns => $statement->{row} || $statement->{value} ? JSON::PP::true() : JSON::PP::false(),
        columns => [map { {name => $_->{name}, type => $_->{type}{sql}, null => $_->{type}{null}} } @columns],
    };
}

my ($mode, @paths) = @ARGV;
die "usage: $0 --header|--source FILE.sql, or --describe FILE.sql...\n" if !@paths || $mode !~ /^--(header|source|describe)$/ || (@paths > 1 && $mode ne '--describe');
require JSON::PP if $mode eq '--describe';
my %built_in = %TYPES;
my @described;
for my $path (@paths) {
    %TYPES = %built_in;
    (%structs, %parts) = ();
    my ($folder, $space) = $path =~ m{^(.*?)([^/]+)\.sql$} or die "$path: not a .sql file\n";
    for my $shared ("${folder}../shared.sql", "${folder}shared.sql") {
        read_file($shared) if -e $shared;
    }
    my @statements = read_file($path);
    local $file = $path;
    my %seen;
    for my $statement (@statements) {
        local $line = $statement->{line};
        fail("there are two statements \"$statement->{name}\"") if $seen{$statement->{name}}++;
        number($statement);
        returned($statement->{row}) if $statement->{row};
    }
    if ($mode eq '--describe') {
        push @described, map { described($space, $_) } @statements;
        next;
    }
    my ($below) = $path =~ m{(store/[^/]+/)[^/]+$} or die "$path: not in src/store/SUBJECT/\n";
    my %headers = map { $_->{header} => 1 } grep { $_->{header} } values %TYPES, values %structs;
    print "// Made by src/store/statements.pl of src/$below$space.sql.\n";
    if ($mode eq '--header') {
        print "#pragma once\n\n", (map { "#include \"$_\"\n" } sort 'store/statement.h', keys %headers), "\nnamespace scylla::store::$space {\n\n", header($space, \@statements);
    } else {
        print "#include \"$below$space.h\"\n\nnamespace scylla::store::$space {\n\n", source($space, \@statements);
    }
    print "} // namespace scylla::store::$space\n";
}
if ($mode eq '--describe') {
    print JSON::PP->new->canonical->encode(\@described), "\n";
}
