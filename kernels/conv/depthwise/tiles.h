// How the results of a batch are divided: into tiles of rows and columns of one image, or of
// several small images. The lines of memory that a tile reads and writes, those of all channels,
// stay in the L2 cache while one block of channels after the other is computed.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_TILES_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_TILES_H_

#include <cstdint>

#include "kernels/conv/depthwise/axis.h"
#include "tensor/rounding.h"

namespace dtnn::conv::depthwise {

struct Tile {
  Range images;
  Range rows, columns;  // steps of the axes
  friend bool operator==(const Tile&, const Tile&) = default;
};

class Tiles {
 public:
  // `pixel`: bytes of all channels of a pixel. Tiles have at least `fewest` results.
  Tiles(const Axis& rows, const Axis& columns, int64_t batch, int64_t pixel, int64_t fewest);

  int64_t Count(int64_t images) const;
  // The rows of an image follow each other.
  Tile At(int64_t index, int64_t images) const;

 private:
  // `total` steps in ranges that differ by one at most.
  struct Division {
    int64_t total = 0, parts = 1;
    Division(int64_t steps, int64_t most) : total(steps), parts(CeilDiv(steps, most)) {}
    Range At(int64_t i) const { return {i * total / parts, (i + 1) * total / parts}; }
  };

  Division rows_, columns_;
  int64_t images_;  // of a tile
};

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_TILES_H_
