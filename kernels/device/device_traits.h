// What code above the kernels may ask of a device: what it can do, instead of which one it is
// (tools/layering.h enforces it).

#ifndef DTNN_KERNELS_DEVICE_DEVICE_TRAITS_H_
#define DTNN_KERNELS_DEVICE_DEVICE_TRAITS_H_

#include <string>
#include <string_view>

#include "tensor/device.h"
#include "tensor/format.h"

namespace dtnn {

struct DeviceTraits {
  // "CPU" or "GPU": what layers are called in tables.
  std::string_view kind;
  // The instruction set of its kernels (kernels/simd/simd_target.h); empty where programs do not
  // choose it.
  std::string instructions;
  // Whether its tensors lie in memory that the host reads and writes, and that other programs of
  // the machine use too.
  bool in_host_memory = false;
  // Whether calls only queue work, which can be captured and replayed
  // (kernels/device/captured_work.h), and whose results are read later.
  bool replays_work = false;
  // Whether convolutions have variants that can be named, and timed to choose one.
  bool chooses_convolutions = false;
  // Whether its libraries have algorithms of their own, for DeviceContext::SetTuner.
  bool tunes_libraries = false;
  // How convolutions apply a batch normalisation after them: as a scale and a shift of what they
  // write, of images in any format; or with a copy of the filter that has the scale in it, made of
  // the parameters, of NHWC images.
  bool scales_results = false, scales_filters = false;
  // Whether two batch normalisations whose outputs are added train as one operation
  // (kernels/batch_norm/norm_pair.h).
  bool pairs_normalizations = false;

  bool FoldsNormalizations(TensorFormat format) const {
    return scales_results || (scales_filters && format == TensorFormat::kNHWC);
  }
};

DeviceTraits TraitsOf(Device device);

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_DEVICE_TRAITS_H_
