"""Seeds that the trainer gives to worlds in Python, from another implementation of Philox4x32-10 (Salmon et al. 2011)
than the trainer's: world_seed(run's seed, world) is the one of a training world that was never resumed."""

TRAIN, WARM_UP, COVERAGE, EVALUATE = 27, 28, 29, 30  # core/random.h
MASK = 0xFFFFFFFF


def philox(counter, key):
    for _ in range(10):
        left, right = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [right >> 32 ^ counter[1] ^ key[0], right & MASK, left >> 32 ^ counter[3] ^ key[1], left & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return counter


def world_seed(seed, world, purpose=TRAIN, number=0):
    return philox([0, number, world, purpose], [seed & MASK, seed >> 32])[0] >> 1


def pool_seed(seed, world, purpose=TRAIN, number=0):
    """Of EnvPool's, which adds the world to the pool's seed by itself."""
    return (philox([0, number, MASK, purpose], [seed & MASK, seed >> 32])[0] >> 2) + world
