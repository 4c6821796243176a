// Options about the images that a network takes, which several programs have: rows of a table of
// options, each bound to a variable, with a help of its own where programs use it for different
// things.

#ifndef DTNN_APPS_PROGRAM_IMAGE_FLAGS_H_
#define DTNN_APPS_PROGRAM_IMAGE_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/flags/option_spec.h"
#include "data/normalize.h"

namespace dtnn {

OptionSpec InputShapeOption(std::vector<int64_t>& shape, std::string_view help);
OptionSpec ClassNamesOption(std::string& file, std::string_view help);
OptionSpec CropOption(double& share, std::string_view help);
OptionSpec MeanOption(std::vector<double>& mean);
OptionSpec StdOption(std::vector<double>& deviation);

// (x - mean) / deviation of each channel, or of all where both have one number; nothing where both
// are empty. A usage error for other numbers of numbers.
absl::StatusOr<Normalization> NormalizationOf(const std::vector<double>& mean,
                                              const std::vector<double>& deviation);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_IMAGE_FLAGS_H_
