// NCCL between the emulated GPUs of processes of one host: bytes through named pipes. It never
// blocks: like NCCL's own communicators that do not, one is "in progress" for a while after a call,
// and must be asked until it is not. Ranks that call different collectives are a LOG(FATAL).

#include <fcntl.h>
#include <glog/logging.h>
#include <nccl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/emulated_gpu/numbers.h"
#include "tests/emulated_gpu/streams.h"

namespace {

using gf::emulated::Number;

// One end of the pipes.
struct Pipes {
  Pipes(std::string in_folder, int own_rank, int ranks)
      : folder(std::move(in_folder)), rank(own_rank), world(ranks) {
    for (int peer = 0; peer < world; ++peer) {
      out.push_back(peer == rank ? -1 : Open(rank, peer));
      in.push_back(peer == rank ? -1 : Open(peer, rank));
    }
  }
  ~Pipes() {
    for (int peer = 0; peer < world; ++peer) {
      if (peer == rank) continue;
      close(out[peer]);
      close(in[peer]);
      unlink(Path(peer, rank).c_str());
    }
    rmdir(folder.c_str());  // done by the last one
  }
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;

  std::string Path(int from, int to) const {
    return folder + "/" + std::to_string(from) + "_" + std::to_string(to);
  }
  int Open(int from, int to) const {
    const std::string path = Path(from, to);
    CHECK(mkfifo(path.c_str(), 0600) == 0 || errno == EEXIST) << path;
    const int file = open(path.c_str(), O_RDWR | O_NONBLOCK);
    CHECK_GE(file, 0) << path;
    return file;
  }

  const std::string folder;
  const int rank, world;
  std::vector<int> out, in;  // by peer
  bool aborted = false;
};

}  // namespace

struct ncclComm {
  std::shared_ptr<Pipes> pipes;
  int polls = 0;  // until it is no longer in progress
};

namespace {

// In front of what travels: what the ranks must agree on.
struct Header {
  int64_t kind, bytes;
};

// Some calls of one group: all that goes to peers and comes from them, at once.
class Exchange {
 public:
  explicit Exchange(std::shared_ptr<Pipes> pipes)
      : pipes_(std::move(pipes)), out_(pipes_->world), in_(pipes_->world) {}

  const Pipes& pipes() const { return *pipes_; }

  // What is read when it begins.
  void Send(int peer, int64_t kind, const void* data, int64_t bytes) {
    begin_.push_back([this, peer, kind, data, bytes] {
      const Header header = {kind, bytes};
      Append(&out_[peer].bytes, &header, sizeof(header));
      Append(&out_[peer].bytes, data, bytes);
    });
  }
  // Returns where in what comes from the peer it will be.
  int64_t Receive(int peer, int64_t kind, int64_t bytes) {
    std::vector<char>& all = in_[peer].bytes;
    const int64_t at = static_cast<int64_t>(all.size());
    all.resize(at + sizeof(Header) + bytes);
    finish_.push_back([this, peer, kind, bytes, at] {
      Header header;
      std::memcpy(&header, in_[peer].bytes.data() + at, sizeof(header));
      CHECK(header.kind == kind && header.bytes == bytes)
          << "ranks call different collectives: " << header.kind << ", " << header.bytes
          << " bytes, and " << kind << ", " << bytes << " bytes";
    });
    return at + static_cast<int64_t>(sizeof(Header));
  }
  const void* Received(int peer, int64_t at) const { return in_[peer].bytes.data() + at; }

  void AtBegin(std::function<void()> work) { begin_.push_back(std::move(work)); }
  void AtEnd(std::function<void()> work) { finish_.push_back(std::move(work)); }

  // Goes on; true once all is done.
  bool Try() {
    if (pipes_->aborted) return true;
    for (const auto& work : begin_) work();
    begin_.clear();
    bool all = true;
    for (int peer = 0; peer < pipes_->world; ++peer) {
      if (peer == pipes_->rank) continue;
      all = Move(pipes_->out[peer], &out_[peer],
                 [](int file, char* data, size_t bytes) { return write(file, data, bytes); }) &&
            all;
      all = Move(pipes_->in[peer], &in_[peer],
                 [](int file, char* data, size_t bytes) { return read(file, data, bytes); }) &&
            all;
    }
    if (!all) return false;
    for (const auto& work : finish_) work();
    return true;
  }

 private:
  struct Bytes {
    std::vector<char> bytes;
    size_t moved = 0;
  };

  static void Append(std::vector<char>* to, const void* data, int64_t bytes) {
    to->insert(to->end(), static_cast<const char*>(data), static_cast<const char*>(data) + bytes);
  }

  template <typename Call>
  static bool Move(int file, Bytes* b, const Call& call) {
    while (b->moved < b->bytes.size()) {
      const ssize_t now = call(file, b->bytes.data() + b->moved, b->bytes.size() - b->moved);
      if (now <= 0) return false;
      b->moved += now;
    }
    return true;
  }

  const std::shared_ptr<Pipes> pipes_;
  std::vector<std::function<void()>> begin_, finish_;
  std::vector<Bytes> out_, in_;  // by peer
};

// The calls between ncclGroupStart and ncclGroupEnd.
struct Group {
  int depth = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::shared_ptr<Exchange> exchange;
};
thread_local Group group;

void BeInProgress(ncclComm_t comm) { comm->polls = 3; }

ncclResult_t EndGroup() {
  if (group.exchange == nullptr) return ncclSuccess;
  gf::emulated::EnqueueAttempts(group.stream,
                                [exchange = group.exchange] { return exchange->Try(); });
  BeInProgress(group.comm);
  group = {};
  return ncclInProgress;
}

// Calls add(exchange) in the group under way, or as a group of its own.
template <typename Add>
ncclResult_t Call(ncclComm_t comm, cudaStream_t stream, const Add& add) {
  if (comm->polls > 0) return ncclInvalidUsage;  // it was not asked until it was ready
  if (group.exchange == nullptr) {
    group.comm = comm;
    group.stream = stream;
    group.exchange = std::make_shared<Exchange>(comm->pipes);
  }
  if (group.comm != comm || group.stream != stream) return ncclInvalidUsage;
  add(group.exchange.get());
  return group.depth > 0 ? ncclSuccess : EndGroup();
}

Number TypeOf(ncclDataType_t type) {
  return type == ncclFloat16    ? Number::kHalf
         : type == ncclBfloat16 ? Number::kBfloat16
                                : Number::kFloat;
}
int64_t SizeOf(ncclDataType_t type) { return type == ncclFloat32 ? 4 : 2; }

// to = the sum of `count` elements of every rank, in the order of the ranks: of the own ones at
// `own`, of the others what each of them sends.
void SumOfAll(Exchange* e, int64_t kind, const void* own, void* to, int64_t count,
              ncclDataType_t type) {
  const Pipes& pipes = e->pipes();
  const int64_t bytes = count * SizeOf(type);
  auto mine = std::make_shared<std::vector<char>>();
  e->AtBegin([=] {
    const char* const data = static_cast<const char*>(own);
    mine->assign(data, data + bytes);
  });
  std::vector<int64_t> places(pipes.world);
  for (int peer = 0; peer < pipes.world; ++peer) {
    if (peer != pipes.rank) places[peer] = e->Receive(peer, kind, bytes);
  }
  e->AtEnd([=, rank = pipes.rank, world = pipes.world] {
    for (int64_t i = 0; i < count; ++i) {
      float sum = 0;
      for (int peer = 0; peer < world; ++peer) {
        const void* const data = peer == rank ? mine->data() : e->Received(peer, places[peer]);
        sum += gf::emulated::Load(TypeOf(type), data, i);
      }
      gf::emulated::Store(TypeOf(type), to, i, sum);
    }
  });
}

// What comes from a peer goes to `to`.
void Put(Exchange* e, int peer, int64_t kind, void* to, int64_t bytes) {
  const int64_t place = e->Receive(peer, kind, bytes);
  e->AtEnd([=] { std::memcpy(to, e->Received(peer, place), bytes); });
}

void CopyOwn(Exchange* e, const void* from, void* to, int64_t bytes) {
  if (from != to) e->AtBegin([=] { std::memmove(to, from, bytes); });
}

enum Kind { kAllReduce, kReduceScatter, kAllGather, kReduce, kBroadcast, kMessage };

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "an error of the emulated NCCL"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::string folder = "/tmp/emulated_nccl_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return ncclSystemError;
  std::memset(id->internal, 0, sizeof(id->internal));
  folder.copy(id->internal, folder.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int world, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidArgument;
  *comm = new ncclComm{std::make_shared<Pipes>(id.internal, rank, world)};
  BeInProgress(*comm);
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  *result = comm->polls > 0 ? ncclInProgress : ncclSuccess;
  comm->polls = std::max(0, comm->polls - 1);
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  BeInProgress(comm);
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  {
    const std::lock_guard<std::recursive_mutex> lock(gf::emulated::Mutex());
    comm->pipes->aborted = true;
  }
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group.depth < 1) return ncclInvalidUsage;
  return --group.depth == 0 ? EndGroup() : ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return ncclInvalidArgument;
  return Call(comm, stream, [&](Exchange* e) {
    for (int peer = 0; peer < e->pipes().world; ++peer) {
      if (peer != e->pipes().rank) {
        e->Send(peer, kAllReduce, from, static_cast<int64_t>(count) * SizeOf(type));
      }
    }
    SumOfAll(e, kAllReduce, from, to, static_cast<int64_t>(count), type);
  });
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return ncclInvalidArgument;
  return Call(comm, stream, [&](Exchange* e) {
    const int64_t bytes = static_cast<int64_t>(count) * SizeOf(type);
    const char* const parts = static_cast<const char*>(from);
    const int rank = e->pipes().rank;
    for (int peer = 0; peer < e->pipes().world; ++peer) {
      if (peer != rank) e->Send(peer, kReduceScatter, parts + peer * bytes, bytes);
    }
    SumOfAll(e, kReduceScatter, parts + rank * bytes, to, static_cast<int64_t>(count), type);
  });
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return Call(comm, stream, [&](Exchange* e) {
    const int64_t bytes = static_cast<int64_t>(count) * SizeOf(type);
    char* const parts = static_cast<char*>(to);
    const int rank = e->pipes().rank;
    for (int peer = 0; peer < e->pipes().world; ++peer) {
      if (peer == rank) continue;
      e->Send(peer, kAllGather, from, bytes);
      Put(e, peer, kAllGather, parts + peer * bytes, bytes);
    }
    CopyOwn(e, from, parts + rank * bytes, bytes);
  });
}

ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return ncclInvalidArgument;
  return Call(comm, stream, [&](Exchange* e) {
    if (e->pipes().rank == root) {
      SumOfAll(e, kReduce, from, to, static_cast<int64_t>(count), type);
    } else {
      e->Send(root, kReduce, from, static_cast<int64_t>(count) * SizeOf(type));
    }
  });
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return Call(comm, stream, [&](Exchange* e) {
    const int64_t bytes = static_cast<int64_t>(count) * SizeOf(type);
    if (e->pipes().rank != root) return Put(e, root, kBroadcast, to, bytes);
    for (int peer = 0; peer < e->pipes().world; ++peer) {
      if (peer != root) e->Send(peer, kBroadcast, from, bytes);
    }
    CopyOwn(e, from, to, bytes);
  });
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return Call(comm, stream, [&](Exchange* e) {
    e->Send(peer, kMessage, from, static_cast<int64_t>(count) * SizeOf(type));
  });
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return Call(comm, stream, [&](Exchange* e) {
    Put(e, peer, kMessage, to, static_cast<int64_t>(count) * SizeOf(type));
  });
}

}  // extern "C"
