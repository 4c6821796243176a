// Jobs of `launch` in tests: what they run, and who their ranks are.

#ifndef DTNN_APPS_TESTING_LAUNCH_JOB_H_
#define DTNN_APPS_TESTING_LAUNCH_JOB_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace dtnn::testing {

inline constexpr char kLaunch[] = "apps/launch/launch";
inline constexpr char kBenchmark[] = "apps/benchmark";

using Arguments = std::vector<std::string>;

Arguments With(Arguments arguments, const Arguments& more);

// For a benchmark that trains in moments. Losses in float64, without dropout, depend on the number
// of ranks by rounding alone.
Arguments SmallRun(int train_samples);

// `launch` with that many ranks of a benchmark.
Arguments Ranks(int ranks, const Arguments& run, const Arguments& options = {});

// The processes of the ranks that a launcher has started, by their first numbers.
std::map<int, pid_t> RanksOf(pid_t launcher);

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_LAUNCH_JOB_H_
