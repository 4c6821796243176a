// Makes a saved model of an ONNX file, or of weights of PyTorch.

#ifndef DTNN_APPS_IMPORT_RUN_H_
#define DTNN_APPS_IMPORT_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace dtnn {

struct ImportFlags {
  std::string in = {}, out = {};
  std::string format = "NHWC";  // of the images that the network computes with, or NCHW
  // channels, height, width; empty: as the file says.
  std::vector<int64_t> input_shape = {};
  std::string output = {};
  std::string final_activation = "none";  // or softmax, sigmoid
  std::string class_names = {};           // a file of a name per line
  std::vector<double> mean = {}, std = {};
  bool square = false;  // the network saw the largest square in the middle of an image
  double crop = 0;      // and of that this fraction of each side; 0: as the file says
  // For a file of weights: the network, by its name or as a model's file has it; whose names the
  // file has; whether layers of other shapes keep their initial values.
  std::string model = {}, weights_map = "torchvision";
  bool weights_partial = false;
};

// Reads flags.in, an ONNX model or weights of PyTorch by the ending of its name, and writes
// flags.out. Says in `out` what it did.
absl::Status ImportModelFile(const ImportFlags& flags, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_IMPORT_RUN_H_
