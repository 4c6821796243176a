// Channels that are picked, in plain loops: the definition that implementations are tested against.
// Images are (outer, channels, inner): NHWC (n*h*w, c, 1), NCHW (n, c, h*w).

#ifndef DTNN_KERNELS_CHANNEL_PICK_REFERENCE_H_
#define DTNN_KERNELS_CHANNEL_PICK_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "kernels/channel_pick/channel_pick.h"

namespace dtnn::reference {

// The channels of x in y: a matrix with a row per group, read column by column.
inline std::vector<int64_t> PickedChannels(const ChannelPickSpec& spec) {
  std::vector<int64_t> picked;
  const int64_t each = spec.count / spec.groups;
  for (int64_t column = 0; column < each; ++column) {
    for (int64_t row = 0; row < spec.groups; ++row) {
      picked.push_back(spec.begin + row * each + column);
    }
  }
  return picked;
}

inline std::vector<double> ChannelPickForward(const ChannelPickSpec& spec, int64_t inner,
                                              const std::vector<double>& x) {
  std::vector<double> y;
  const int64_t outer = int64_t(x.size()) / (spec.channels * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t channel : PickedChannels(spec)) {
      for (int64_t i = 0; i < inner; ++i) {
        y.push_back(x[size_t((o * spec.channels + channel) * inner + i)]);
      }
    }
  }
  return y;
}

inline std::vector<double> ChannelPickBackward(const ChannelPickSpec& spec, int64_t inner,
                                               const std::vector<double>& dy) {
  const int64_t outer = int64_t(dy.size()) / (spec.count * inner);
  std::vector<double> dx(size_t(outer * spec.channels * inner));
  size_t next = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t channel : PickedChannels(spec)) {
      for (int64_t i = 0; i < inner; ++i) {
        dx[size_t((o * spec.channels + channel) * inner + i)] = dy[next++];
      }
    }
  }
  return dx;
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_CHANNEL_PICK_REFERENCE_H_
