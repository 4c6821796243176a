// The options that the programs have in common which measure or predict steps of networks: which
// networks, how they compute, and where results go as JSON lines.

#ifndef DTNN_BENCH_MEASURED_NETWORKS_H_
#define DTNN_BENCH_MEASURED_NETWORKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/option_spec.h"
#include "bench/model_run.h"

namespace dtnn {

struct MeasuredNetworks {
  std::string models = {}, format = "NHWC", math_mode = "fp32", json = {};
  int64_t batch = 64;

  // Flags that set these members, whose present values are the defaults. `int8`: may be a mode.
  std::vector<OptionSpec> Flags(bool int8 = false);
  // Those of `models`. A usage error for one that there is not.
  absl::StatusOr<std::vector<std::string>> Names() const;
  ModelRunOptions RunOf(const std::string& model) const;
  // To the file `json`; nothing where that is empty.
  absl::Status Append(std::string_view lines) const;
};

}  // namespace dtnn

#endif  // DTNN_BENCH_MEASURED_NETWORKS_H_
