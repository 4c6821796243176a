// The options of import, of the program and of Python.

#ifndef DTNN_APPS_CONVERSION_IMPORT_FLAGS_H_
#define DTNN_APPS_CONVERSION_IMPORT_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "apps/flags/option_spec.h"

namespace dtnn {

struct ImportFlags {
  std::string in = {}, out = {};
  std::string format = "NHWC";  // of the images that the network computes with, or NCHW
  // channels, height, width; empty: as the file says.
  std::vector<int64_t> input_shape = {};
  std::string output = {};
  std::string final_activation = "none";  // or softmax, sigmoid
  std::string class_names = {};           // a file of a name per line
  std::vector<std::string> names = {};    // of classes, where there is no file of them
  std::vector<double> mean = {}, std = {};
  bool square = false;  // the network saw the largest square in the middle of an image
  double crop = 0;      // and of that this fraction of each side; 0: as the file says
  // For a file of weights: the network, by its name or as a model's file has it; whether layers of
  // other shapes keep their initial values.
  std::string model = {};
  bool weights_partial = false;
};

// Bound to its members, all but `in`, `out` and `names`.
std::vector<OptionSpec> OptionsOf(ImportFlags& options);

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERSION_IMPORT_FLAGS_H_
