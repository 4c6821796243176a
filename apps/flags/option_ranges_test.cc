// The range of every option of a number, written once more: whether an end belongs to it is decided
// by a word in a table, and files of options rely on it.

#include <map>
#include <string>

#include "absl/strings/str_format.h"
#include "apps/flags/option_table.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

std::string Interval(const Range& range) {
  return absl::StrFormat(
      "%c%g, %g%c%s", range.low_open ? '(' : '[', range.low, range.high,
      range.high_open ? ')' : ']',
      range.hole > 0 ? absl::StrFormat(" but (-%g, %g)", range.hole, range.hole) : "");
}

TEST(OptionRangesTest, AreThoseOfTheirQuantities) {
  std::map<std::string, std::string> options;  // by range
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.range != Range()) options[Interval(spec.range)] += std::string(spec.name) + " ";
  }
  const std::map<std::string, std::string> expected = {
      {"(0, 1)",
       "dp-sgd-delta reduce-lr-on-plateau-factor reduce-lr-every-nepochs-factor dp-delta "},
      {"(0, 1]", "augment-flip-prob augment-crop-prob transform-crop-perc optimizer-density "},
      {"(0, 10]", "dp-clip-rate "},
      {"(0, 1e+38]", "learning-rate polynomial-power "},
      {"[-1e+09, 1e+09]", "model-sync-freq "},
      {"[-1e+38, 1e+38]", "normalize-offset stop-at-loss-threshold "},
      {"[-1e+38, 1e+38] but (-1e-30, 1e-30)", "normalize-scale "},
      {"[0, 1)",
       "validation-split optimizer-momentum optimizer-beta1 optimizer-beta2 "
       "optimizer-rho ema label-smoothing dp-quantile "},
      {"[0, 1000]", "dataset-percentage "},
      {"[0, 1024]", "loader-threads "},
      {"[0, 1e+09]",
       "num-epochs steps-per-epoch checkpoint-steps model-sync-min-avail "
       "warm-up-epochs cosine-restart-epochs "},
      {"[0, 1e+38]",
       "optimizer-decay clip-norm dp-sgd-clip dp-sgd-noise early-stopping-min-delta "
       "reduce-lr-on-plateau-min-lr reduce-lr-every-nepochs-min-lr cosine-min-lr "
       "polynomial-min-lr dp-clip dp-noise dp-bit-noise cpu-speed memory-bw network-lat "},
      {"[0, 2]", "mixup "},
      {"[0, 254]", "mask-neighbours "},
      {"[0.5, 1e+09]", "comm-timeout "},
      {"[1, 1e+08]",
       "batch-size global-batch-size synthetic-train-samples synthetic-test-samples "},
      {"[1, 1e+09]",
       "checkpoint-freq synthetic-output-shape optimizer-tau optimizer-tau-prime "
       "accumulate-steps warm-up-batches early-stopping-patience "
       "reduce-lr-on-plateau-patience reduce-lr-every-nepochs-nepochs "
       "model-checkpoint-save-freq cosine-restart-growth "},
      {"[0, 65535]", "metrics-port "},
      {"[1, 62]", "encryption-poly-degree encryption-global-scale "},
      {"[1, 64]", "least-clients "},
      {"[1, 65535]", "tracer-pmlib-port "},
      {"[1, 65536]", "synthetic-input-shape augment-crop-size transform-resize-size "},
      {"[1e-30, 1e+38]", "optimizer-epsilon network-bw "},
  };
  EXPECT_EQ(options, expected);
}

}  // namespace
}  // namespace dtnn
