// The printed table of a network: layers with ids, parameter counts, output and weight shapes; and
// its summary.

#ifndef DTNN_MODELS_GRAPH_TABLE_H_
#define DTNN_MODELS_GRAPH_TABLE_H_

#include <string>

#include "models/graph/graph.h"
#include "tensor/device.h"
#include "tensor/dtype.h"

namespace dtnn {

// Lines as in README A's newer form; `device` gives the suffix of the type column (Conv2DCPU). The
// ids of frozen layers carry a star.
std::string FormatTable(const Graph& graph, DType dtype, Device device);

// The same in two lines: "9 layers: 2 Conv2D, MaxPool2D, Flatten", in the order in which the types
// of layers first occur, and what goes in, what comes out and the number of parameters.
std::string FormatSummary(const Graph& graph, DType dtype);

// Bytes in the largest fitting unit of 1024^k, at most two decimals: "58.16 MBytes", "1.5 KBytes".
std::string FormatBytes(double bytes);

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_TABLE_H_
