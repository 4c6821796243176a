// The device that the options ask for. The only place above the kernels that tells devices apart.

#ifndef DTNN_APPS_MAKE_MAKE_DEVICE_H_
#define DTNN_APPS_MAKE_MAKE_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "kernels/context.h"

namespace dtnn {

// A usage error where there is no such GPU.
absl::StatusOr<std::unique_ptr<DeviceContext>> MakeDevice(const Options& options);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_MAKE_DEVICE_H_
