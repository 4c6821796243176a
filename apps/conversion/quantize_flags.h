// The options of quantize, of the program and of Python.

#ifndef DTNN_APPS_CONVERSION_QUANTIZE_FLAGS_H_
#define DTNN_APPS_CONVERSION_QUANTIZE_FLAGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/flags/option_spec.h"
#include "data/dataset.h"

namespace dtnn {

struct QuantizeFlags {
  std::string model, out;      // files
  std::string calibrate = {};  // a data set's name, or a folder of images
  std::string dataset_path = {};
  std::shared_ptr<const Dataset> dataset = nullptr;  // instead, under the name `calibrate`
  int64_t samples = 512;
  std::string method = "minmax";  // or percentile, entropy
  double largest_error = 0.1;
  int64_t test_samples = 2000;  // of a data set, which are compared; 0: all
  int64_t batch = 32;
};

// Bound to its members, all but `model`, `out` and `dataset`.
std::vector<OptionSpec> OptionsOf(QuantizeFlags& options);

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERSION_QUANTIZE_FLAGS_H_
