"""What passes do to graphs: each that changes one makes a revision of its listing."""
