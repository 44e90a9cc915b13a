// The graph schema. Record families share their columns: ids are strings, times ISO text, bodies JSON text.

CREATE NODE TABLE Meta(key STRING PRIMARY KEY, value STRING);
CREATE NODE TABLE Fact(id STRING PRIMARY KEY, kind STRING, text STRING, title STRING, target STRING, namespace STRING, truth_status STRING, lifecycle STRING, source_ref STRING, trust DOUBLE, confidence DOUBLE, created_at STRING, valid_from STRING, valid_until STRING, body STRING);
CREATE NODE TABLE Decision(id STRING PRIMARY KEY, kind STRING, text STRING, title STRING, target STRING, namespace STRING, truth_status STRING, lifecycle STRING, source_ref STRING, trust DOUBLE, confidence DOUBLE, created_at STRING, valid_from STRING, valid_until STRING, body STRING);
CREATE NODE TABLE Failure(id STRING PRIMARY KEY, kind STRING, text STRING, title STRING, target STRING, namespace STRING, truth_status STRING, lifecycle STRING, source_ref STRING, trust DOUBLE, confidence DOUBLE, created_at STRING, valid_from STRING, valid_until STRING, body STRING);
CREATE NODE TABLE Learning(id STRING PRIMARY KEY, kind STRING, text STRING, title STRING, target STRING, namespace STRING, truth_status STRING, lifecycle STRING, source_ref STRING, trust DOUBLE, confidence DOUBLE, created_at STRING, valid_from STRING, valid_until STRING, body STRING);
CREATE NODE TABLE Task(id STRING PRIMARY KEY, kind STRING, text STRING, title STRING, target STRING, namespace STRING, truth_status STRING, lifecycle STRING, source_ref STRING, trust DOUBLE, confidence DOUBLE, created_at STRING, valid_from STRING, valid_until STRING, body STRING);
CREATE NODE TABLE Review(id STRING PRIMARY KEY, kind STRING, text STRING, title STRING, target STRING, namespace STRING, truth_status STRING, lifecycle STRING, source_ref STRING, trust DOUBLE, confidence DOUBLE, created_at STRING, valid_from STRING, valid_until STRING, body STRING);
CREATE NODE TABLE Rule(id STRING PRIMARY KEY, kind STRING, text STRING, title STRING, target STRING, namespace STRING, truth_status STRING, lifecycle STRING, source_ref STRING, trust DOUBLE, confidence DOUBLE, created_at STRING, valid_from STRING, valid_until STRING, body STRING);
CREATE NODE TABLE Event(id STRING PRIMARY KEY, type STRING, outcome STRING, session STRING, text STRING, target STRING, created_at STRING);
CREATE NODE TABLE Entity(name STRING PRIMARY KEY);
CREATE NODE TABLE File(path STRING PRIMARY KEY, language STRING, indexed BOOLEAN);
CREATE NODE TABLE Symbol(ref STRING PRIMARY KEY, path STRING, name STRING, kind STRING, signature STRING, node_id STRING, first_line INT64, last_line INT64, indexed BOOLEAN);
CREATE REL TABLE ABOUT(FROM Fact TO Entity, FROM Fact TO File, FROM Fact TO Symbol, FROM Decision TO Entity, FROM Decision TO File, FROM Decision TO Symbol, FROM Failure TO Entity, FROM Failure TO File, FROM Failure TO Symbol, FROM Learning TO Entity, FROM Learning TO File, FROM Learning TO Symbol, FROM Task TO Entity, FROM Task TO File, FROM Task TO Symbol, FROM Review TO Entity, FROM Review TO File, FROM Review TO Symbol, FROM Rule TO Entity, FROM Rule TO File, FROM Rule TO Symbol, strength DOUBLE);
CREATE REL TABLE GOVERNS(FROM Decision TO File, FROM Decision TO Symbol, FROM Rule TO File, FROM Rule TO Symbol, strength DOUBLE);
CREATE REL TABLE EVIDENCE(FROM Fact TO Entity, FROM Fact TO File, FROM Fact TO Decision, FROM Fact TO Failure, FROM Fact TO Fact, FROM Decision TO Entity, FROM Decision TO File, FROM Decision TO Decision, FROM Decision TO Failure, FROM Decision TO Fact, FROM Failure TO Entity, FROM Failure TO File, FROM Failure TO Decision, FROM Failure TO Failure, FROM Failure TO Fact, FROM Learning TO Entity, FROM Learning TO File, FROM Learning TO Decision, FROM Learning TO Failure, FROM Learning TO Fact, strength DOUBLE);
CREATE REL TABLE SUPERSEDED_BY(FROM Fact TO Fact, FROM Decision TO Decision, FROM Failure TO Failure, FROM Learning TO Learning, strength DOUBLE);
CREATE REL TABLE CONTRADICTS(FROM Fact TO Fact, FROM Decision TO Decision, strength DOUBLE);
CREATE REL TABLE DERIVED_FROM(FROM Learning TO Failure, FROM Learning TO Decision, FROM Rule TO Failure, FROM Rule TO Decision, strength DOUBLE);
CREATE REL TABLE DEFINES(FROM File TO Symbol, line INT64);
CREATE REL TABLE CALLS(FROM Symbol TO Symbol, FROM File TO Symbol, line INT64);
CREATE REL TABLE IMPORTS(FROM File TO File, line INT64);
CREATE REL TABLE INHERITS(FROM Symbol TO Symbol, line INT64);
