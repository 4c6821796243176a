#include "apps/program/image_flags.h"

#include <algorithm>
#include <cstddef>

#include "comm/ranks/job/exit_code.h"

namespace dtnn {

OptionSpec InputShapeOption(std::vector<int64_t>& shape, std::string_view help) {
  return {.name = "input-shape",
          .type = OptionType::kInts,
          .help = help,
          .unit = "channels,height,width",
          .range = {.low = 1, .high = 65536},
          .field = &shape};
}

OptionSpec ClassNamesOption(std::string& file, std::string_view help) {
  return {.name = "class-names", .type = OptionType::kPath, .help = help, .field = &file};
}

OptionSpec CropOption(double& share, std::string_view help) {
  return {.name = "crop",
          .type = OptionType::kReal,
          .help = help,
          .unit = "fraction",
          .range = {.low = 0, .high = 1},
          .field = &share};
}

OptionSpec MeanOption(std::vector<double>& mean) {
  return {.name = "mean",
          .type = OptionType::kReals,
          .help = "mean of the training data, of byte / 255: one number, or one per channel",
          .unit = "value,...",
          .range = {.low = -1e30, .high = 1e30},
          .field = &mean};
}

OptionSpec StdOption(std::vector<double>& deviation) {
  return {.name = "std",
          .type = OptionType::kReals,
          .help = "standard deviation of the training data: one number, or one per channel",
          .unit = "value,...",
          .range = {.low = 1e-30, .high = 1e30},
          .field = &deviation};
}

absl::StatusOr<Normalization> NormalizationOf(const std::vector<double>& mean,
                                              const std::vector<double>& deviation) {
  const size_t count = std::max(mean.size(), deviation.size());
  for (const auto* numbers : {&mean, &deviation}) {
    if (numbers->size() <= 1 || numbers->size() == count) continue;
    return UsageError("--mean, --std: have ", mean.size(), " and ", deviation.size(),
                      " numbers; expected one, or one per channel");
  }
  Normalization result = {std::vector<double>(count, 0), std::vector<double>(count, 1)};
  for (size_t i = 0; i < count; ++i) {
    if (!mean.empty()) result.offset[i] = -mean[mean.size() == 1 ? 0 : i];
    if (!deviation.empty()) result.scale[i] = 1 / deviation[deviation.size() == 1 ? 0 : i];
  }
  return result;
}

}  // namespace dtnn
