// What both kernels of forward and backward data share: a stride-1 convolution from x to y, or from
// dy to dx with the filter turned by half a turn.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_DATA_SIDE_H_
#define DTNN_KERNELS_CONV_WINOGRAD_DATA_SIDE_H_

#include <cstdint>

#include "kernels/conv/kernel.h"
#include "kernels/conv/winograd/filter_panels.h"
#include "kernels/conv/winograd/form.h"
#include "kernels/conv/winograd/tile_grid.h"
#include "kernels/conv/winograd/winograd_cpu.h"

namespace dtnn::conv::winograd {

template <typename T>
class DataSide {
 public:
  using Call = typename DataKernel<T>::Call;

  DataSide(const Conv2dSpec& spec, Direction direction, Form form)
      : form_(form),
        kernels_(CpuKernels<T>(form)),
        grid_(spec, direction, form),
        panels_(form, spec.channels, spec.filters, direction == Direction::kBackwardData) {}

  Form form() const { return form_; }
  const Kernels<T>& kernels() const { return kernels_; }
  const TileGrid& grid() const { return grid_; }
  const FilterPanels<T>& panels() const { return panels_; }

  // The outputs of some tiles in the channels of a panel.
  void Write(const Call& call, const OutWindow<T>* windows, int64_t count, int64_t panel,
             const Tiles<T>& products) const {
    const WriteBack<T>& write_back = call.write_back;
    kernels_.tiles_to_out({.tiles = {products.data, products.element, products.tile},
                           .windows = windows,
                           .count = count,
                           .row = call.out.row,
                           .pixel = call.out.pixel,
                           .addend_row = write_back.addend.row,
                           .addend_pixel = write_back.addend.pixel,
                           .channels = panels_.out_channels(panel),
                           .first_channel = panels_.first_out_channel(panel),
                           .scale = write_back.scale,
                           .bias = write_back.bias,
                           .relu = write_back.relu});
  }

 private:
  Form form_;
  const Kernels<T>& kernels_;
  TileGrid grid_;
  FilterPanels<T> panels_;
};

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_DATA_SIDE_H_
