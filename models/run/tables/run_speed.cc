#include "models/run/tables/run_speed.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace dtnn {

std::string FormatRunSpeed(double seconds, const PassTotals& totals) {
  const double samples = double(totals.training_samples + totals.validation_samples);
  std::string text = absl::StrFormat("**** Done...\nTime: %.2f s\nThroughput: %.2f samples/s%s\n",
                                     seconds, seconds > 0 ? samples / seconds : 0,
                                     totals.validation_samples > 0 ? ", validation included" : "");
  if (totals.training_samples > 0) {
    const double epochs = double(totals.training_samples) / double(totals.epoch_samples);
    const double between = seconds - totals.training_seconds;
    absl::StrAppendFormat(&text, "Time per epoch: %5.4f s\n",
                          totals.training_seconds / epochs + between / std::ceil(epochs));
  }
  return text;
}

}  // namespace dtnn
