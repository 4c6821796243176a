// A network as Python writes it down: layers, or a path of layers inside another one.

#ifndef DTNN_APPS_PYTHON_NETWORK_H_
#define DTNN_APPS_PYTHON_NETWORK_H_

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/graph/builder.h"
#include "models/run/objects/network.h"

namespace dtnn::python {

struct Layers {
  std::string name = {};
  bool has_input = false;
  std::vector<GraphBuilder::Path> steps = {};

  // Takes the samples of `data` unless it says what it takes.
  Network For(const Dataset* data) const;
};

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_NETWORK_H_
