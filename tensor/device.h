// Where memory lives and work runs: the host ("cpu"), a GPU ("cuda:0"), or a simulated one
// ("simulated:0", tensor/gpu/README.md).

#ifndef DTNN_TENSOR_DEVICE_H_
#define DTNN_TENSOR_DEVICE_H_

#include <cstdint>
#include <string>

namespace dtnn {

enum class DeviceType : uint8_t { kCpu, kCuda, kSimulated };

struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;

  static constexpr Device Cpu() { return {}; }
  static constexpr Device Cuda(int index) { return {DeviceType::kCuda, index}; }
  static constexpr Device Simulated(int index) { return {DeviceType::kSimulated, index}; }

  bool is_cpu() const { return type == DeviceType::kCpu; }
  std::string ToString() const {
    if (is_cpu()) return "cpu";
    return (type == DeviceType::kCuda ? "cuda:" : "simulated:") + std::to_string(index);
  }
  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_DEVICE_H_
