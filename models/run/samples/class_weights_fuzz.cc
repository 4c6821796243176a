// Any bytes as a file of class weights: it is refused, or all weights are numbers from 0 on, not
// all of them 0, and either all lines have names or none has.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/run/samples/class_weights_file.h"
#include "tensor/text/class_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dtnn;
  const auto lines = ParseClassWeights({reinterpret_cast<const char*>(data), size}, "weights.txt");
  if (!lines.ok()) return 0;
  double sum = 0;
  for (const ClassWeightLine& line : *lines) {
    const bool named = !line.name.empty();
    if (named != !lines->front().name.empty() || (named && !IsClassName(line.name))) std::abort();
    if (!std::isfinite(line.weight) || line.weight < 0) std::abort();
    sum += line.weight;
  }
  if (!(sum > 0)) std::abort();
  return 0;
}
