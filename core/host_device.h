#pragma once

// For functions that processors and GPUs execute.
#ifdef __CUDACC__
#define GF_HOST_DEVICE __host__ __device__
#else
#define GF_HOST_DEVICE
#endif
