// What the flags of quantize say.

#ifndef DTNN_APPS_QUANTIZE_QUANTIZE_OPTIONS_H_
#define DTNN_APPS_QUANTIZE_QUANTIZE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace dtnn {

struct QuantizeFlags {
  std::string model, out;      // files
  std::string calibrate = {};  // a data set's name, or a folder of images
  std::string dataset_path = {};
  int64_t samples = 512;
  std::string method = "minmax";  // or percentile, entropy
  double largest_error = 0.1;
  int64_t test_samples = 2000;  // of a data set, which are compared; 0: all
  int64_t batch = 32;
};

}  // namespace dtnn

#endif  // DTNN_APPS_QUANTIZE_QUANTIZE_OPTIONS_H_
