// What a client sends that lies about what it has learnt.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_LIE_H_
#define DTNN_COMM_FEDERATION_SIMULATION_LIE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace dtnn::federation {

// w + factor (x - w), of what it was given and what it has trained.
inline std::vector<float> Lie(std::span<const float> begin, std::span<const float> trained,
                              double factor) {
  std::vector<float> told(trained.size());
  for (size_t i = 0; i < told.size(); ++i) {
    told[i] = float(begin[i] + factor * (double(trained[i]) - begin[i]));
  }
  return told;
}

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_LIE_H_
