// Where memory lives and work runs: the host ("cpu") or one GPU ("cuda:0").

#ifndef DTNN_TENSOR_DEVICE_H_
#define DTNN_TENSOR_DEVICE_H_

#include <cstdint>
#include <string>

namespace dtnn {

enum class DeviceType : uint8_t { kCpu, kCuda };

struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;

  static constexpr Device Cpu() { return {}; }
  static constexpr Device Cuda(int index) { return {DeviceType::kCuda, index}; }

  bool is_cpu() const { return type == DeviceType::kCpu; }
  std::string ToString() const { return is_cpu() ? "cpu" : "cuda:" + std::to_string(index); }
  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_DEVICE_H_
