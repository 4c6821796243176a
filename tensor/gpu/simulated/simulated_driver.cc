#include "tensor/gpu/simulated/simulated_driver.h"

#include <unistd.h>

#include "tensor/errors.h"
#include "tensor/gpu/simulated/simulated_gpu.h"

namespace dtnn::gpu {
namespace {

class SimulatedDriver : public Driver {
 public:
  explicit SimulatedDriver(const SimulatedConfig& config) : config_(config) {}

  absl::StatusOr<int> DeviceCount() override { return config_.devices; }

  absl::StatusOr<Properties> PropertiesOf(int device) override {
    DTNN_RETURN_IF_ERROR(CheckDevice("simulated", device, config_.devices));
    Properties properties = config_.properties;
    properties.hardware = (int64_t{getpid()} << 16) + device;  // a process has its own
    return properties;
  }

  absl::StatusOr<std::unique_ptr<Gpu>> Open(int device) override {
    SimulatedConfig config = config_;
    DTNN_ASSIGN_OR_RETURN(config.properties, PropertiesOf(device));
    return std::make_unique<SimulatedGpu>(device, config, world_);
  }

 private:
  const SimulatedConfig config_;
  const std::shared_ptr<World> world_ = std::make_shared<World>();
};

}  // namespace

std::unique_ptr<Driver> CreateSimulatedDriver(const SimulatedConfig& config) {
  return std::make_unique<SimulatedDriver>(config);
}

}  // namespace dtnn::gpu
