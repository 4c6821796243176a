#include "comm/ranks/mpi/transfer.h"

#include <algorithm>

#include "tensor/status_macros.h"

namespace dtnn {

MPI_Datatype MpiTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return MPI_FLOAT;
    case DType::kFloat64:
      return MPI_DOUBLE;
    case DType::kUint8:
      return MPI_UINT8_T;
    case DType::kInt32:
      return MPI_INT32_T;
    case DType::kInt64:
      return MPI_INT64_T;
    case DType::kFloat16:
    case DType::kBfloat16:
      break;  // MPI knows no such type
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op MpiOpOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return MPI_SUM;
    case ReduceOp::kMin:
      return MPI_MIN;
    case ReduceOp::kMax:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

namespace {

constexpr int kMessageTag = 1;

// `elements` of `base`, more than max_count of them, as one element: rows of max_count, and a rest.
absl::Status MakeBlock(int64_t elements, int64_t max_count, MPI_Datatype base, int64_t base_size,
                       MPI_Datatype* block) {
  const int64_t rows = elements / max_count, rest = elements % max_count;
  MPI_Datatype row = MPI_DATATYPE_NULL;
  DTNN_RETURN_IF_ERROR(
      MpiStatus(MPI_Type_contiguous(int(max_count), base, &row), "MPI_Type_contiguous"));
  const int lengths[] = {int(rows), int(rest)};
  const MPI_Aint offsets[] = {0, MPI_Aint(rows * max_count * base_size)};
  const MPI_Datatype types[] = {row, base};
  const int made = MPI_Type_create_struct(2, lengths, offsets, types, block);
  MPI_Type_free(&row);
  DTNN_RETURN_IF_ERROR(MpiStatus(made, "MPI_Type_create_struct"));
  return MpiStatus(MPI_Type_commit(block), "MPI_Type_commit");
}

// An all-gather of inputs, or an all-to-all of parts, of `elements` each.
absl::Status BeginExchange(const Collective& call, int rank, int64_t elements, MPI_Comm comm,
                           int64_t max_count, std::vector<MPI_Request>& requests) {
  const int64_t size = int64_t(SizeOf(call.input.dtype()));
  MPI_Datatype type = MpiTypeOf(call.input.dtype());
  int count = int(elements);
  const bool large = elements > max_count;
  if (large) {
    DTNN_RETURN_IF_ERROR(MakeBlock(elements, max_count, type, size, &type));
    count = 1;
  }
  const bool gathers = call.kind == CollectiveKind::kAllGather;
  const bool in_place =
      gathers && call.input.raw_data() == call.output.raw_data() + int64_t(rank) * elements * size;
  const void* const input = in_place ? MPI_IN_PLACE : call.input.raw_data();
  void* const output = call.output.raw_data();
  MPI_Request* const request = &requests.emplace_back(MPI_REQUEST_NULL);
  const int code = gathers ? MPI_Iallgather(input, count, type, output, count, type, comm, request)
                           : MPI_Ialltoall(input, count, type, output, count, type, comm, request);
  if (large) MPI_Type_free(&type);  // lives on until the transfer is done
  return MpiStatus(code, gathers ? "MPI_Iallgather" : "MPI_Ialltoall");
}

int BeginChunk(const Collective& call, std::byte* data, int count, MPI_Datatype type, MPI_Comm comm,
               MPI_Request* request) {
  switch (call.kind) {
    case CollectiveKind::kBroadcast:
      return MPI_Ibcast(data, count, type, call.root, comm, request);
    case CollectiveKind::kAllReduce:
      return MPI_Iallreduce(MPI_IN_PLACE, data, count, type, MpiOpOf(call.op), comm, request);
    case CollectiveKind::kSend:
      return MPI_Isend(data, count, type, call.root, kMessageTag, comm, request);
    case CollectiveKind::kReceive:
      return MPI_Irecv(data, count, type, call.root, kMessageTag, comm, request);
    case CollectiveKind::kBarrier:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      break;
  }
  return MPI_ERR_INTERN;
}

}  // namespace

absl::Status BeginTransfer(const Collective& call, int rank, MPI_Comm comm, int64_t max_count,
                           std::vector<MPI_Request>& requests) {
  if (call.kind == CollectiveKind::kBarrier) {
    MPI_Request* const request = &requests.emplace_back(MPI_REQUEST_NULL);
    return MpiStatus(MPI_Ibarrier(comm, request), "MPI_Ibarrier");
  }
  const int64_t elements = call.input.num_elements();
  if (elements == 0) return absl::OkStatus();
  if (call.kind == CollectiveKind::kAllGather) {
    return BeginExchange(call, rank, elements, comm, max_count, requests);
  }
  if (call.kind == CollectiveKind::kAllToAll) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    return BeginExchange(call, rank, elements / ranks, comm, max_count, requests);
  }
  const int64_t size = int64_t(SizeOf(call.input.dtype()));
  const MPI_Datatype type = MpiTypeOf(call.input.dtype());
  for (int64_t begin = 0; begin < elements; begin += max_count) {
    std::byte* const data = call.output.raw_data() + begin * size;
    const int count = int(std::min(max_count, elements - begin));
    MPI_Request* const request = &requests.emplace_back(MPI_REQUEST_NULL);
    const int code = BeginChunk(call, data, count, type, comm, request);
    DTNN_RETURN_IF_ERROR(MpiStatus(code, "MPI's start of a transfer"));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
