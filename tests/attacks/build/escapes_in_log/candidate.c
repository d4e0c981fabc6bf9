/* An #error with terminal controls that would hide the compiler's words and print a verdict. */
#error "[2J]0;owned verdict: accepted ‮detpecca"
int x;
