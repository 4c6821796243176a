#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/conv/gpu/cudnn/descriptor.h"
#include "tensor/status_macros.h"

namespace dtnn::cudnn {

absl::Status StatusOf(std::string_view what, cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  char words[1024] = "";
  cudnnGetLastErrorString(words, sizeof(words));
  // Each kind of error has codes of its own from its first one on.
  const bool unsupported = CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
  return absl::Status(
      unsupported ? absl::StatusCode::kUnimplemented : absl::StatusCode::kInternal,
      absl::StrCat(std::string(what), ": cuDNN ", cudnnGetVersion(), " says ",
                   cudnnGetErrorString(status), words[0] == '\0' ? "" : ": ", words));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  status_.Update(StatusOf(absl::StrCat("creating descriptor ", int(type)),
                          cudnnBackendCreateDescriptor(type, &made)));
  if (status_.ok()) {
    descriptor_.reset(made, [](void* each) { (void)cudnnBackendDestroyDescriptor(each); });
  }
}

Descriptor& Descriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                            int64_t count, const void* values) {
  if (status_.ok()) {
    status_.Update(StatusOf(absl::StrCat("setting attribute ", int(name)),
                            cudnnBackendSetAttribute(get(), name, type, count, values)));
  }
  return *this;
}

Descriptor& Descriptor::Refer(cudnnBackendAttributeName_t name, const Descriptor& to) {
  return Refer(name, {&to, 1});
}

Descriptor& Descriptor::Refer(cudnnBackendAttributeName_t name, std::span<const Descriptor> to) {
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (const Descriptor& each : to) {
    status_.Update(each.status());
    pointers.push_back(each.get());
  }
  return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(pointers.size()), pointers.data());
}

Descriptor& Descriptor::Finalize() {
  if (status_.ok()) status_.Update(StatusOf("finalizing", cudnnBackendFinalize(get())));
  return *this;
}

absl::StatusOr<int64_t> Descriptor::Get(cudnnBackendAttributeName_t name,
                                        cudnnBackendAttributeType_t type, int64_t most,
                                        void* values) const {
  DTNN_RETURN_IF_ERROR(status_);
  int64_t count = 0;
  DTNN_RETURN_IF_ERROR(StatusOf(absl::StrCat("reading attribute ", int(name)),
                                cudnnBackendGetAttribute(get(), name, type, most, &count, values)));
  return count;
}

absl::StatusOr<int64_t> Descriptor::GetInt(cudnnBackendAttributeName_t name) const {
  int64_t value = 0;
  DTNN_RETURN_IF_ERROR(Get(name, CUDNN_TYPE_INT64, 1, &value).status());
  return value;
}

absl::StatusOr<std::string> Descriptor::GetText(cudnnBackendAttributeName_t name) const {
  DTNN_ASSIGN_OR_RETURN(const int64_t bytes, Get(name, CUDNN_TYPE_CHAR, 0, nullptr));
  std::string text(size_t(std::max<int64_t>(bytes, 0)), '\0');
  DTNN_ASSIGN_OR_RETURN(const int64_t filled, Get(name, CUDNN_TYPE_CHAR, bytes, text.data()));
  text.resize(size_t(std::clamp<int64_t>(filled, 0, bytes)));
  return text;
}

absl::StatusOr<std::vector<Descriptor>> Descriptor::GetAll(
    cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const {
  DTNN_ASSIGN_OR_RETURN(const int64_t count, Get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr));
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (int64_t i = 0; i < count; ++i) {
    found.emplace_back(type);
    DTNN_RETURN_IF_ERROR(found.back().status());
    pointers.push_back(found.back().get());
  }
  if (count == 0) return found;
  DTNN_ASSIGN_OR_RETURN(const int64_t filled,
                        Get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, pointers.data()));
  found.erase(found.begin() + std::min(filled, count), found.end());
  return found;
}

}  // namespace dtnn::cudnn
