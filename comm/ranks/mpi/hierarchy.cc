#include "comm/ranks/mpi/hierarchy.h"

#include <algorithm>

#include "comm/ranks/mpi/transfer.h"
#include "tensor/rounding.h"

namespace dtnn {

Hierarchy::Hierarchy(const std::array<MPI_Comm, kStages>& comms) : comms_(comms) {
  MPI_Comm_rank(comms_[kGather], &place_);
  MPI_Comm_size(comms_[kGather], &ranks_here_);
}

Hierarchy::Slices Hierarchy::Cut(int elements) const {
  const int64_t most = CeilDiv(int64_t(elements), ranks_here_);
  Slices slices;
  for (int64_t place = 0; place <= ranks_here_; ++place) {
    slices.begins.push_back(int(std::min<int64_t>(elements, place * most)));
    if (place > 0) slices.counts.push_back(slices.begins.back() - slices.begins[size_t(place) - 1]);
  }
  return slices;
}

absl::Status Hierarchy::Begin(Stage stage, const Collective& call, Slices& slices,
                              std::vector<MPI_Request>& requests) const {
  const MPI_Datatype type = MpiTypeOf(call.input.dtype());
  const MPI_Op op = MpiOpOf(call.op);
  std::byte* const data = call.output.raw_data();
  const int elements = int(call.input.num_elements());
  if (stage == kWithin) slices = Cut(elements);
  const int begin = slices.begins[size_t(place_)], count = slices.counts[size_t(place_)];
  MPI_Request* const request = &requests.emplace_back(MPI_REQUEST_NULL);
  const MPI_Comm comm = comms_[stage];
  const auto start = [&] {
    switch (stage) {
      case kWithin:
        return MPI_Iallreduce(MPI_IN_PLACE, data, elements, type, op, comm, request);
      case kAcross:
        return MPI_Iallreduce(MPI_IN_PLACE, data + int64_t(begin) * SizeOf(call.input.dtype()),
                              count, type, op, comm, request);
      case kGather:
        return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, slices.counts.data(),
                               slices.begins.data(), type, comm, request);
      case kStages:
        break;
    }
    return MPI_ERR_INTERN;
  };
  return MpiStatus(start(), "MPI's start of a stage of an all-reduce");
}

void Hierarchy::Free() {
  for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
}

}  // namespace dtnn
