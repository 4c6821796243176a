// A descriptor of cuDNN's backend (graph) API. Setters chain, and the first error stays: the caller
// looks once, after Finalize. For .cu files.
//
//   Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
//   tensor.Ints(CUDNN_ATTR_TENSOR_DIMENSIONS, dims).Type(...).Finalize();
//   DTNN_RETURN_IF_ERROR(tensor.status());

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_DESCRIPTOR_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_DESCRIPTOR_H_

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn::cudnn {

// Internal, with what was attempted and cuDNN's own words; OK for CUDNN_STATUS_SUCCESS.
absl::Status StatusOf(std::string_view what, cudnnStatus_t status);

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  const absl::Status& status() const { return status_; }
  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values);
  // Any of cuDNN's enumerations.
  template <typename E>
  Descriptor& Enum(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, E value) {
    return Set(name, type, 1, &value);
  }
  Descriptor& Ints(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
    return Set(name, CUDNN_TYPE_INT64, int64_t(values.size()), values.data());
  }
  Descriptor& Int(cudnnBackendAttributeName_t name, int64_t value) {
    return Set(name, CUDNN_TYPE_INT64, 1, &value);
  }
  Descriptor& Flag(cudnnBackendAttributeName_t name, bool value) {
    return Set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
  }
  Descriptor& Type(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    return Enum(name, CUDNN_TYPE_DATA_TYPE, value);
  }
  Descriptor& Text(cudnnBackendAttributeName_t name, std::string_view text) {
    return Set(name, CUDNN_TYPE_CHAR, int64_t(text.size()), text.data());
  }
  // Other descriptors, whose errors become this one's.
  Descriptor& Refer(cudnnBackendAttributeName_t name, const Descriptor& to);
  Descriptor& Refer(cudnnBackendAttributeName_t name, std::span<const Descriptor> to);
  Descriptor& Finalize();

  // Attributes of a finalized descriptor: one value, or how many there are.
  absl::StatusOr<int64_t> GetInt(cudnnBackendAttributeName_t name) const;
  absl::StatusOr<int64_t> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              int64_t most, void* values) const;
  absl::StatusOr<std::string> GetText(cudnnBackendAttributeName_t name) const;
  // All descriptors of an attribute, of this type.
  absl::StatusOr<std::vector<Descriptor>> GetAll(cudnnBackendAttributeName_t name,
                                                 cudnnBackendDescriptorType_t type) const;

 private:
  std::shared_ptr<void> descriptor_;
  absl::Status status_;
};

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_DESCRIPTOR_H_
