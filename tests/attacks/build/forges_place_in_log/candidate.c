/* Claims with #line that its errors are in a file of the machine. */
#line 1 "/etc/shadow"
#error "root:x"
