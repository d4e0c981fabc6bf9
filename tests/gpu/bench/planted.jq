# A profile of planted.cu (kgrade profile --json | jq -rf planted.jq): what was planted, and what it was attributed as.
#
# Expected of the calls is what the candidate's own clock says of calls in which nothing is noted; attributed what the profile says of
# the calls that it has noted, less what noting is known to add by the profile's own calibration.  Means, since they add up.  What
# a spin adds to what it was told is known from the median of the one of 5 us.
def spin_ns: 5000;

(.reason // empty | "no profile: \(.message)" | error),
(.errors[]? | "error: \(tojson)"),
(.calibration.warm as {complete_ns: $range, call_leaf_ns: $leaf, call_complete_ns: $complete}
| [.rows[] | select(.phase == "warm" and .thread == 0 and .metric == "inclusive")] as $rows
| ([$rows[] | select(.range == "candidate.entry") | .count] | add) as $calls
| def only($range): [$rows[] | select(.range == $range)][0] // error("the profile has no range " + $range);
  def sum(f): ([f] | add // 0) / $calls;
  def below($range): $rows[] | select(.path | index($range));
  # The calls that are directly in a range have the layer of their group around them, which is not noted.
  def calls($range): below($range) | select(.range | startswith("api."));
  def outer($range): below($range) | select(.path[-1] == $range);
  def clock_ns($what): only("clock." + $what).mean - (only("planted.spin").median - spin_ns);
  # Memory is the recorder's own, which notes what is asked of it as any range.
  def cost: if .range | IN("api.cuMemAlloc", "api.cuMemFree") then $range else $complete end;
  def attributed_ns($what): sum(outer("planted." + $what) | .count * (.mean - $leaf + $complete))
      - sum(calls("planted." + $what) | .count * cost);
  def number($what; $function): sum(calls("planted." + $what) | select(.range | startswith("api." + $function)) | .count);
  def line($what; $unit; $expected; $found; $allowed): [$what, $unit, $expected, $found, $found - $expected,
      100 * ($found - $expected) / $expected, if ($found - $expected | fabs) <= $allowed then "yes" else "NO" end];
  def time($what; $expected; $found): line($what; "ns"; $expected; $found; [100, 0.05 * $expected] | max);
  time("spin"; spin_ns; only("planted.spin").median),
  (("memory", "queries", "launches") | time(.; clock_ns(.); attributed_ns(.))),
  line("queries"; "calls"; 3; number("queries"; "cudaDeviceGetAttribute"); 0),
  line("launches"; "calls"; 10; number("launches"; "cuLaunch"); 0)
| @tsv)
