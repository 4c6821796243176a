// Which network a run trains, and what its parameters begin with.

#ifndef DTNN_MODELS_RUN_OPTIONS_NETWORK_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_NETWORK_OPTIONS_H_

#include <string>

namespace dtnn {

struct NetworkOptions {
  std::string name = {};                // of the zoo; empty: the network in the file of `weights`
  std::string dtype = "float32";        // or float64
  std::string format = "AUTO";          // or NHWC or NCHW; see FormatOf
  std::string weights = {};             // file to start from; empty: random values
  std::string weights_format = "auto";  // layout of a file of weights without a tag
  bool weights_partial = false;         // take from the file what fits
  std::string freeze = {};              // patterns of layers that do not train (graph/freeze.h)

  friend bool operator==(const NetworkOptions&, const NetworkOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_NETWORK_OPTIONS_H_
